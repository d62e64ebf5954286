"""Result files: JSON lines, one for each case, appended.

In: values of a case. Out: lines under `benchmarks/results/<benchmark>.jsonl` that say by which run,
when, on which machine and with which versions they were measured.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.case import Values

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(__file__).resolve().parent / "results"


@functools.cache
def versions() -> dict[str, str]:
    """What ran: Python, torch, triton, libraries that are baselines, tileops and its commit."""
    found = {"python": platform.python_version()}
    for name in ("torch", "triton"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    for name in ("liger_kernel", "flag_gems", "flash-linear-attention"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    text = (ROOT / "tileops" / "_version.py").read_text(encoding="utf-8")
    found["tileops"] = text.partition('__version__ = "')[2].partition('"')[0]
    found["commit"] = _commit()
    return found


def _commit() -> str:
    """The commit, with a plus when the checkout has changes; "unknown" outside of one."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@functools.cache
def machine() -> dict[str, Any]:
    """Where it ran: processor, usable cores, GPU."""
    usable = getattr(os, "sched_getaffinity", None)
    cores = len(usable(0)) if usable else os.cpu_count()
    return {"cpu": _processor(), "cores": cores, "gpu": gpu()}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@functools.cache
def gpu() -> str | None:
    """The name of the current CUDA device, or None."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that may go on: its id, the values of finished cases, and the cases that failed."""

    run: str
    values: dict[str, Values]
    failed: frozenset[str]


@dataclass(frozen=True, slots=True)
class ResultFile:
    """The lines of one benchmark."""

    path: Path

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every readable line; a run that was killed may have left half of one."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict) and found.keys() >= {"run", "case"}:
                yield found

    def unfinished(self) -> Unfinished | None:
        """The last run here with the same code, versions and machine."""
        lines = [item for item in self.lines() if _same(item)]
        if not lines:
            return None
        run = lines[-1]["run"]
        lines = [item for item in lines if item["run"] == run]
        values = {item["case"]: item["values"] for item in lines if "values" in item}
        failed = {item["case"] for item in lines if "failed" in item} - values.keys()
        return Unfinished(run, values, frozenset(failed))

    def append(
        self,
        benchmark: str,
        run: str,
        case: str,
        values: Values | None = None,
        failed: str | None = None,
    ) -> None:
        """Adds one line: values, or why there are none."""
        line: dict[str, Any] = {
            "benchmark": benchmark,
            "case": case,
            "run": run,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            "versions": versions(),
        }
        line |= {"values": values} if failed is None else {"failed": failed}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(line, allow_nan=False, sort_keys=True) + "\n"
        with self.path.open("a+b") as stream:
            # A run that was killed may have left half a line, which must not swallow this one.
            if stream.seek(0, os.SEEK_END):
                stream.seek(-1, os.SEEK_END)
                text = text if stream.read(1) == b"\n" else "\n" + text
            stream.write(text.encode())


def _same(line: dict[str, Any]) -> bool:
    return line.get("machine") == machine() and line.get("versions") == versions()


def new_run() -> str:
    """An id for a run."""
    return uuid.uuid4().hex[:12]


def say(text: str) -> None:
    """Progress, which is no result and goes to stderr."""
    print(text, file=sys.stderr, flush=True)
