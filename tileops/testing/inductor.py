"""What Inductor asks of the machine before it compiles C++, asked once for all processes.

In: nothing. Out: nothing; `know_the_machine` leaves the answers with torch.
"""

from __future__ import annotations

import contextlib
import functools
import os

__all__ = ["know_the_machine"]

_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


@functools.cache
def know_the_machine() -> None:
    """Has Inductor find out which vector instructions there are, in the folder it has by default.

    It compiles a program for each set of them, ten here (22 s of CPU, Xeon with AVX-512, 2 cores,
    2026-12-01), and finds them again by machine, compiler and version of torch. A compile without
    caches would look in an empty folder, in every process anew. No operator's code is among them.
    """
    from torch._inductor import cpu_vec_isa

    folder = os.environ.pop(_FOLDER, None)
    try:
        # Where that folder cannot be written, the first compile asks again.
        with contextlib.suppress(OSError):
            cpu_vec_isa.valid_vec_isa_list()
    finally:
        os.environ.pop(_FOLDER, None)
        if folder is not None:
            os.environ[_FOLDER] = folder
