"""Programs that stand on the public calls: command line, jobs, map page, NetworkX backend."""
