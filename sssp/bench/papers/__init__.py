"""Baselines rebuilt from papers, and benchmark tables with the papers' figures."""
