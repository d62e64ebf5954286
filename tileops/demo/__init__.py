"""A small language model on tileops operators, held against itself in plain PyTorch.

`tileops demo` runs it. The model is model.py, over the spellings of spelling.py; the steps of the
demo are in run.py.
"""

from __future__ import annotations

__all__: list[str] = []
