"""Certify a result: `verify`."""

from sssp.certificate.certify import verify

__all__ = ["verify"]
