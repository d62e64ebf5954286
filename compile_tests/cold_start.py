"""One family in an interpreter where nothing ran before: the first contact is the compiler's.

Run as a program with a backend and a family; prints one line for each entry. The caches of its
environment are empty.
"""

from __future__ import annotations

import sys

import torch

import tileops
from tileops.testing.cases import rows
from tileops.testing.compiled import check_static


def main(backend: str, family: str) -> None:
    for entry in tileops.registry.entries:
        if entry.family != family or entry.status != "implemented":
            continue
        case = rows(entry.name)[0].tensors("cpu", max_elements=1024)
        result = check_static(case.call, backend=backend)
        torch.testing.assert_close(result, case(), equal_nan=True)
        print(entry.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
