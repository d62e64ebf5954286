"""Where kernel tests run: in Triton's interpreter, or on a GPU.

In: pytest's parametrisation. Out: `DEVICES`, a parameter list for tests of small tensors, `gpu` and
`compiles`, marks for the tests that need a GPU or a compiler.
"""

from __future__ import annotations

import os

import pytest
import torch

__all__ = ["DEVICES", "compiles", "gpu"]

_INTERPRETING = os.environ.get("TRITON_INTERPRET") == "1"


def gpu(test):  # type: ignore[no-untyped-def]
    """Marks a test that needs a CUDA device."""
    missing = _INTERPRETING or not torch.cuda.is_available()
    return pytest.mark.gpu(pytest.mark.skipif(missing, reason="needs a CUDA device")(test))


compiles = pytest.mark.skipif(_INTERPRETING, reason="compiles kernels: not in the interpreter")
"""Marks a test that needs Triton's compiler, and no GPU."""

DEVICES = [
    pytest.param(
        "cpu",
        marks=[
            pytest.mark.interpreter,
            pytest.mark.skipif(not _INTERPRETING, reason="needs TRITON_INTERPRET=1"),
        ],
    ),
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(
                _INTERPRETING or not torch.cuda.is_available(), reason="needs a CUDA device"
            ),
        ],
    ),
]
