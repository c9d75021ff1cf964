"""The page in a browser, and the server behind it."""
