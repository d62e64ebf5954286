"""Where measured ceilings are kept: one file per device model, in the user's cache folder.

In: rates by name. Out: the file's rates, as long as the same torch measured them: its libraries
make the products. `rate_of` measures what is not there.
"""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import results
from tileops.manifest.cache import cache_folder


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A rate that this device reaches: `unit` is "B/s", "FLOP/s" or "OP/s"."""

    name: str
    rate: float
    unit: str

    def __str__(self) -> str:
        return f"{self.name} {self.rate / 1e12:.3g} T{self.unit}"

    def values(self) -> dict[str, Any]:
        """As it stands in a result line."""
        return {"name": self.name, "rate": self.rate, "unit": self.unit}


def path_of(model: str) -> Path | None:
    """The file of a device model; None where there is no folder to keep it in."""
    base = cache_folder()
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    return None if base is None else Path(base) / "profiles" / f"{slug}.json"


def load(model: str) -> dict[str, Ceiling]:
    """What was kept by the same torch; nothing where the file cannot be read."""
    path = path_of(model)
    try:
        found = json.loads(path.read_text("utf-8")) if path is not None else {}
        if found.get("torch") != results.versions()["torch"]:
            return {}
        return {name: Ceiling(name, item["rate"], item["unit"])
                for name, item in found["ceilings"].items()}  # fmt: skip
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {}


def keep(model: str, ceiling: Ceiling) -> None:
    """Adds one ceiling to the file; where it cannot be written, the next run measures again."""
    path = path_of(model)
    if path is None:
        return
    ceilings = {**load(model), ceiling.name: ceiling}
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    text = json.dumps(
        {
            "model": model,
            "torch": results.versions()["torch"],
            "date": now,
            "ceilings": {name: item.values() for name, item in ceilings.items()},
        },
        indent=1,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        results.say(f"the profile cannot be kept: {error}")


def rate_of(model: str, name: str, measure: Callable[[str], Ceiling]) -> Ceiling:
    """The kept ceiling, or what `measure` finds now."""
    found = load(model).get(name)
    if found is None:
        results.say(f"    measuring the ceiling {name} of {model}")
        found = measure(name)
        keep(model, found)
    return found
