"""Certify that computed distances and paths are correct, with the function `verify`."""

from sssp.certificate.verify import verify

__all__ = ["verify"]
