"""What every compiled kernel stands on: the decorator, dtypes and sentinels, status codes."""
