"""`tileops doctor`: what this installation consists of, and what it can and cannot do."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import tileops
from tileops.cli.errors import FINDINGS, OK
from tileops.cli.output import write
from tileops.diagnostics.text import printable, shorten
from tileops.manifest.cache import cache_folder
from tileops.manifest.fingerprint import spec_folder

_PROBE = """
import time, torch
start = time.perf_counter()
import tileops
seconds = round(time.perf_counter() - start, 3)
from tileops.cli.probe import report
report(seconds)
"""

_PACKAGE = Path(tileops.__file__).parent


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    report, problems = examine()
    if args.format == "json":
        document = {"version": 1, "report": dict(report), "problems": problems}
        write(json.dumps(document, indent=2) + "\n")
    else:
        width = max(len(name) for name, _ in report)
        for name, value in report:
            write(f"{name:<{width}}  {printable(value)}\n")
        for problem in problems:
            write(f"problem: {printable(problem)}\n")
    return FINDINGS if problems else OK


def examine() -> tuple[list[tuple[str, str]], list[str]]:
    """The lines of the report, and one sentence for each thing that is wrong."""
    problems: list[str] = []
    report = [
        ("tileops", f"{tileops.__version__} in {_PACKAGE}"),
        ("manifest", str(spec_folder())),
        ("python", f"{platform.python_version()} ({sys.executable})"),
    ]
    for name in ("torch", "triton", "PyYAML"):
        report.append((name, _version(name)))
    report.append(("C++ compiler", _compiler() or "none: models compile with aot_eager only"))
    report.append(("cache", _cache()))
    if report[3][1] == "not installed":
        report.append(("registered", "nothing: torch is not installed"))
    else:
        report += _registered(problems)
    others = providers()
    if len(others) > 1:
        problems.append(
            f"more than one distribution provides `tileops`: {', '.join(others)}; uninstall all "
            "of them, then install this one from its path"
        )
    return report, problems


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _compiler() -> str:
    # Inductor takes CXX, then the first of these that runs.
    for name in (os.environ.get("CXX", ""), "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    return ""


def _cache() -> str:
    folder = cache_folder()
    if folder is None:
        return "none: there is no home folder"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return f"{folder} (writable)"
    except OSError as error:
        return f"{folder} (not writable: {error.strerror}; every import decodes the manifest)"


def _registered(problems: list[str]) -> list[tuple[str, str]]:
    try:
        found = _probe()
    except RuntimeError as error:
        problems.append(f"`import tileops` fails: {error}")
        return [("registered", "nothing: `import tileops` fails")]
    report = [("device", name) for name in found["devices"]]
    report.append(("import", f"{found['import_seconds']} s after torch"))
    if "entries" not in found:
        return [*report, ("registered", "nothing: this process is static")]
    report.append(("registered", f"{len(found['entries'])} entries"))
    report += [("skipped", f"{name}: {reason}") for name, reason in found["skipped"]]
    return report


def _probe() -> dict[str, Any]:
    """What `tileops.cli.probe` finds in a process of its own; else a RuntimeError."""
    path = os.pathsep.join(filter(None, [str(_PACKAGE.parent), os.environ.get("PYTHONPATH")]))
    env = os.environ | {"PYTHONPATH": path, "TILEOPS_STATIC": "0"}
    command = [sys.executable, "-c", _PROBE]
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, errors="replace", timeout=300
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from None
    if done.returncode < 0:
        raise RuntimeError(f"the process ended with signal {-done.returncode}")
    if done.returncode > 0:
        raise RuntimeError(shorten(done.stderr.strip().rpartition("\n")[2], 300))
    try:
        found: dict[str, Any] = json.loads(done.stdout.rpartition("\n")[2])
    except ValueError:
        raise RuntimeError("the process printed no report") from None
    return found


def providers() -> list[str]:
    """The installations that bring a top-level `tileops`, one for each place it comes from."""
    found: dict[Path, str] = {}
    for distribution in metadata.distributions():
        if _provides(distribution):
            place = _place(distribution)
            found.setdefault(place, f"{distribution.name} {distribution.version} in {place}")
    return sorted(found.values())


def _provides(distribution: metadata.Distribution) -> bool:
    if (top := distribution.read_text("top_level.txt")) is not None:
        return "tileops" in top.split()
    return any(file.parts[:1] == ("tileops",) for file in distribution.files or ())


def _place(distribution: metadata.Distribution) -> Path:
    """Where the package lies; an editable install points to its checkout."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        if origin["dir_info"]["editable"]:
            return Path(unquote(urlsplit(origin["url"]).path)).resolve()
    return Path(str(distribution.locate_file(""))).resolve()
