"""A map that answers clicks: what a page in a browser shows, and the server on this machine."""
