"""The base of all kernels: the decorator, dtypes and sentinels, status codes."""
