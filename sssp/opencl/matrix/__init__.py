"""All pairs and transitive closure by OpenCL: kernels (``.cl``) beside the file that runs them."""
