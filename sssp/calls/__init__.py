"""What a user calls: arguments checked once, a place chosen, one solver asked."""
