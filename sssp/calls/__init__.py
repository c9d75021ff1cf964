"""The public functions: they check arguments, choose a device, and call one solver."""
