"""Where a measurement was taken: versions and hardware."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import sssp
from sssp.engine.threads import usable_cores
from sssp.errors import SSSPError

__all__ = ["hardware", "versions"]


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of this package, its checkout, Python, and other packages.

    Parameters
    ----------
    packages : sequence of str
        Names of installed distributions.

    Returns
    -------
    dict
        Versions by name; ``commit`` is absent where the package is no checkout.
    """
    found = {"sssp": sssp.__version__}
    commit = _commit(Path(sssp.__file__).resolve().parent.parent)
    if commit is not None:
        found["commit"] = commit
    found["python"] = platform.python_version()
    return found | {package: metadata.version(package) for package in packages}


def hardware(devices: Sequence[str] = ()) -> dict[str, str | int | None]:
    """Return processor, cores, memory in bytes, and operating system.

    Parameters
    ----------
    devices : sequence of str
        Devices to be measured on: of the first GPU that can be used, its name and the CUDA
        version of its driver are told as well.
    """
    found: dict[str, str | int | None] = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    gpus = (_gpu(device) for device in devices if device.startswith("cuda"))
    return found | next(filter(None, gpus), {})


def _commit(checkout: Path) -> str | None:
    """Commit of the checkout, marked if files have changed since; None where there is none."""
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _gpu(device: str) -> dict[str, str]:
    """Name and driver of a GPU; empty where it cannot be used, as the skipped rows explain."""
    try:
        from sssp.cuda.compiler import SIMULATOR, cuda, device_number, select

        number = device_number(device)
    except SSSPError:
        return {}
    if SIMULATOR:
        return {"gpu": "none, Numba's CUDA simulator"}
    with select(number):
        name = cuda.get_current_device().name
    version = cuda.cudadrv.driver.driver.get_version()
    return {"gpu": str(name), "driver": f"CUDA {'.'.join(map(str, version))}"}


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
