"""The public functions: arguments checked once, a place chosen, one solver asked."""
