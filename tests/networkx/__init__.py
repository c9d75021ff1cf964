"""The NetworkX backend: its answers, its choices, and NetworkX's own tests through it."""
