"""Programs of a family, saved by one process and run by another. Run as a program, it loads them.

A saved program is a file `<n>.pt2` with its inputs and expected results beside it in `<n>.pt`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from tileops.testing.call import Call


class Program(torch.nn.Module):
    """A module around one call, its tensors the inputs."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.function = call.function()

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


def export(call: Call) -> torch.export.ExportedProgram:
    """The call exported with the sizes that its indices give left open."""
    free: list[dict[int, Any]] = [
        {axis: torch.export.Dim.DYNAMIC for name, axis in call.unbacked if name == argument}
        for argument in call.tensors
    ]
    shapes = (tuple(free),) if free else None
    return torch.export.export(Program(call), tuple(call.tensors.values()), dynamic_shapes=shapes)


def save(call: Call, at: Path) -> None:
    """Exports and saves a call, with what it is run on later."""
    torch.export.save(export(call), at.with_suffix(".pt2"))
    torch.save((tuple(call.tensors.values()), call()), at.with_suffix(".pt"))


def load_and_run(folder: Path) -> int:
    """Runs every program of a folder, the first compiled too; returns how many there were."""
    files = sorted(folder.glob("*.pt2"))
    for at, file in enumerate(files):
        program = torch.export.load(file).module()
        inputs, expected = torch.load(file.with_suffix(".pt"))
        torch.testing.assert_close(program(*inputs), expected, equal_nan=True)
        if at == 0:
            compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
            torch.testing.assert_close(compiled(*inputs), expected, equal_nan=True)
    return len(files)


if __name__ == "__main__":
    import tileops

    assert tileops.registry.entries
    print(load_and_run(Path(sys.argv[1])))
