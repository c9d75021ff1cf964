"""The names of devices, for ``device=`` and the environment variable ``SSSP_DEVICE``."""

from __future__ import annotations

import os
import re
from typing import Any

from sssp.errors import DeviceError

#: names the device of calls with device="auto"
VARIABLE = "SSSP_DEVICE"
#: of a device
NAME = re.compile(r"cpu|(cuda|opencl)(:\d+)?")
#: names all GPUs
ALL = "cuda:all"


def named_device(device: Any) -> str:
    """Return the device that the call or the environment names, or ``"auto"``.

    Raises
    ------
    DeviceError
        The name is none.
    """
    if device != "auto":
        if not is_device_name(device):
            refuse_several(device)
            raise DeviceError(
                f"unknown device {device!r}; choose 'auto', 'cpu', 'cuda', 'cuda:N', "
                "'opencl' or 'opencl:N'"
            )
        return str(device)
    named = os.environ.get(VARIABLE, "")
    if named and not is_device_name(named):
        raise DeviceError(
            f"the environment variable {VARIABLE} is {named!r}; set it to cpu, cuda, cuda:N, "
            "opencl or opencl:N, or unset it"
        )
    return named or "auto"


def refuse_several(device: Any) -> None:
    """Raise DeviceError if `device` is a list or ``"cuda:all"``: the call runs on one device.

    Raises
    ------
    DeviceError
        It is one, or the name of all.
    """
    if device == ALL or isinstance(device, list | tuple):
        raise DeviceError(
            f"this call runs on one device, not on {device!r}: name one, as 'cuda:0'; several "
            "share the rows of shortest_paths, reduce, pairs and iter_blocks"
        )


def kind_of(device: str) -> str:
    """Return the kind of a device: ``"cpu"``, ``"cuda"`` or ``"opencl"``."""
    return device.partition(":")[0]


def is_device_name(device: Any) -> bool:
    """Return whether a value is the name of one device, such as ``"cpu"`` or ``"cuda:0"``."""
    return isinstance(device, str) and NAME.fullmatch(device) is not None
