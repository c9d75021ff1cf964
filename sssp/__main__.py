"""``python -m sssp``: the command line."""

from sssp.apps.cli import console

if __name__ == "__main__":
    console()
