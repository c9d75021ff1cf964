"""The base of all kernels: the decorator and its cache, dtypes, sentinels, status codes."""
