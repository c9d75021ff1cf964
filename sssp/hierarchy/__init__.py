"""Prepared maps: customizable contraction hierarchies (Dibbelt, Strasser and Wagner 2016)."""
