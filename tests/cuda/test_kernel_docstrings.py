"""Every CUDA kernel says what it does, and a long list of arguments has a table of them."""

from __future__ import annotations

import ast

import pytest

from tests.cuda.kernels import kernels

#: up to so many arguments explain themselves
FEW_ARGUMENTS = 4


KERNELS = [kernel for _, kernel in kernels()]


def documented_arguments(docstring: str) -> list[str]:
    """First column of the table in a docstring, without its head."""
    _, _, table = docstring.partition("\nargument ")
    _, *lines = table.partition("\n\n")[0].splitlines() or [""]
    return [line.split()[0] for line in lines if not line.startswith("=")]


def test_all_kernels_are_found() -> None:
    names = [kernel.name for kernel in KERNELS]
    assert "_delta_stepping_kernel" in names
    assert "_fill_kernel" in names
    assert all(name.endswith("_kernel") for name in names)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_kernel_documents_itself(kernel: ast.FunctionDef) -> None:
    docstring = ast.get_docstring(kernel)
    assert docstring is not None
    arguments = [argument.arg for argument in kernel.args.args]
    documented = documented_arguments(docstring)
    if documented or len(arguments) > FEW_ARGUMENTS:
        assert documented == arguments
