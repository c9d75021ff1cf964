"""Scripts that measure, run from the root of the checkout: ``python -m bench.searches``."""
