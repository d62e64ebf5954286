"""Why a row loses, where somebody found out: reasons.yaml, and what its line tells by itself.

In: a row's name and values. Out: one sentence. reasons.yaml maps part of a row's name, the longest
that fits counting, to a sentence.
"""

from __future__ import annotations

import functools
from pathlib import Path

import yaml

from benchmarks.case import Values

FILE = Path(__file__).resolve().parent / "reasons.yaml"
#: The operator may take so much longer than its kernel before that is a reason.
_AROUND = 1.15


def reason_of(name: str, item: Values) -> str:
    """The recorded reason, else what can be read off the line."""
    recorded = known(FILE)
    fitting = [part for part in recorded if part in name]
    if fitting:
        return recorded[max(fitting, key=len)]
    if item["served"] == "reference":
        declined = "; ".join(f"{k}: {why}" for k, why in item.get("declined", {}).items())
        return f"no kernel takes the row{f' ({declined})' if declined else ''}"
    times = item["us"]
    if "kernel" in times and times["tileops"] > _AROUND * times["kernel"]:
        return f"the operator adds {times['tileops'] - times['kernel']:.1f} us to its kernel"
    return "not known"


@functools.cache
def known(file: Path) -> dict[str, str]:
    """What people recorded."""
    found = yaml.safe_load(file.read_text("utf-8")) or {}
    return {str(part): str(reason) for part, reason in found.items()}
