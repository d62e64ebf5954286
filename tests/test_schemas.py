"""The schemas of all operators, as users and saved programs see them: a change shows in review."""

import torch

import tileops


def test_schemas(golden):
    lines = []
    for entry in tileops.registry.entries:
        for name in entry.operators:
            qualified, _, overload = name.partition(".")
            packet = getattr(torch.ops.tileops, qualified.partition("::")[2])
            lines.append(str(getattr(packet, overload or "default")._schema))
    golden("schemas.txt", "\n".join(sorted(lines)) + "\n")
