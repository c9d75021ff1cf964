"""What programs of the package share: arguments, errors in one line, Ctrl-C.

The command line and the bench are such programs, and the scripts of ``bench/`` beside the package.
"""
