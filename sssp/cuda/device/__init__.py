"""Device functions that kernels share: bits of numbers, warps, grids, inline PTX."""
