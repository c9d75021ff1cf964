"""OpenCL solvers of all-pairs distances and transitive closure, with their ``.cl`` kernels."""
