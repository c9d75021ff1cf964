"""Code that the command line and the benchmark share: arguments, one-line errors, Ctrl-C.

The command line and the bench are such programs, and the scripts of ``bench/`` beside the package.
"""
