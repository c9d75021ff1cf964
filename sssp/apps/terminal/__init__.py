"""The parts that all programs share: arguments, errors in one line, Ctrl-C.

The command line and the bench are such programs, and the scripts of ``bench/`` beside the package.
"""
