"""One family in an interpreter where nothing ran before: the first contact is the compiler's.

Run as a program with a family's name; prints one line for each entry. The caches of its
environment are empty.
"""

from __future__ import annotations

import sys

import torch

import tileops
from tileops.testing.cases import rows
from tileops.testing.compiled import check_static


def main(family: str) -> None:
    entries = [e for e in tileops.registry.entries if e.family == family]
    for at, entry in enumerate(e for e in entries if e.status == "implemented"):
        case = rows(entry.name)[0].tensors("cpu", max_elements=1024)
        # The C++ compiler once per family; the graph of the others is traced as cold.
        backend = "inductor" if at == 0 else None
        result = check_static(case.call, backend=backend)
        torch.testing.assert_close(result, case(), equal_nan=True)
        print(entry.name)


if __name__ == "__main__":
    main(sys.argv[1])
