"""Programs built on the public calls: command line, jobs, map page, NetworkX backend."""
