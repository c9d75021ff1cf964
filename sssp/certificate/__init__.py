"""Certify a result: `verify`."""

from sssp.certificate.verify import verify

__all__ = ["verify"]
