"""One first call in a fresh process: `python -m benchmarks.cold_compile_child FORM DEVICE SIZE`.

FORM is "plain" or a boundary policy of `compiling.policy_of`, SIZE "small" or "llama3-8b". torch is
there first and does not count, nor does the first touch of the device. Out: one JSON line of
seconds.
"""

from __future__ import annotations

import json
import sys
import time


def measure(form: str, device: str, size: str) -> dict[str, float]:
    """What comes before the first result, by parts."""
    import torch

    torch.zeros(1, device=device)
    marks = [time.perf_counter()]
    if form != "plain":
        import tileops  # noqa: F401
    marks.append(time.perf_counter())

    from benchmarks import compiling, decoder

    sizes = decoder.LLAMA3_8B if size == "llama3-8b" else decoder.SMALL
    with torch.no_grad():
        weights = decoder.Weights(sizes, device, torch.bfloat16)
        layers = decoder.Layers(sizes, "plain" if form == "plain" else "tileops", 1, weights)
        x = torch.randn(1, 1, sizes.width, device=device, dtype=torch.bfloat16)
        _settle(device)
        marks.append(time.perf_counter())
        step = torch.compile(layers.decode, fullgraph=True)
        if form == "plain":
            step(x)
        else:
            with compiling.policy_of(form):
                step(x)
        _settle(device)
    marks.append(time.perf_counter())
    return {"import_s": marks[1] - marks[0], "first_call_s": marks[3] - marks[2]}


def _settle(device: str) -> None:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:4])))
