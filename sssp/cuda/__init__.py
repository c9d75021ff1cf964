"""Solvers for NVIDIA GPUs, in Numba CUDA: searches, dense matrices, prepared maps.

Each is the twin of the file of the same name in `sssp.cpu`: the same driver signature, the same
statistics. They run in Numba's simulator too (``NUMBA_ENABLE_CUDASIM=1``), which is how they are
tested on machines without a GPU.
"""
