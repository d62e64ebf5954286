"""A worker process as its parent sees it: requests out, events in, and how it can be lost.

In: a command. Out: events of one entry at a time, or `Died`, `Hung` and `Broken`. The worker is
`tileops.testing.worker`; this side needs no torch.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

#: The command of a worker, given the file descriptor that it writes its events to.
Start = Callable[[int], list[str]]

#: How often a waiting parent looks whether it is to stop, in seconds.
_GLANCE = 0.5

#: What an interpreter with torch may take to start on a busy machine, in seconds.
_START = 300.0


class Died(Exception):
    """The process ended in the middle of a check; says how."""


class Hung(Exception):
    """The process did not end a check in time; it has been ended."""


class Broken(Exception):
    """The checks themselves failed: an error in tileops."""


@dataclass(frozen=True, slots=True)
class Event:
    """A check that begins, or with a `code` what it found, where `made` is false if the check
    could not be made; with a `count`, how many such steps an entry has."""

    check: str
    row: str = ""
    case: str = ""
    code: str = ""
    message: str = ""
    made: bool = True
    count: int = 0


def worker_of(folder: Path, package: str = "") -> Start:
    """Workers that serve a manifest folder, whose classes `package` holds."""
    return lambda channel: [
        sys.executable,
        "-m",
        "tileops.testing.worker",
        str(folder),
        str(channel),
        *([package] if package else ()),
    ]


class Worker:
    """A fresh interpreter with empty compile caches, ended on leaving the context."""

    def __init__(self, start: Start, timeout: float, stop: threading.Event) -> None:
        self.alive = True
        self._timeout = timeout
        self._stop = stop
        self._held = contextlib.ExitStack()
        self._pending = b""
        caches = self._held.enter_context(
            tempfile.TemporaryDirectory(prefix="tileops-", ignore_cleanup_errors=True)
        )
        self._log = open(Path(caches, "log"), "w+b")  # noqa: SIM115 (closed with the rest)
        self._held.callback(self._log.close)
        self._events, channel = os.pipe()
        self._held.callback(os.close, self._events)
        try:
            self._process = subprocess.Popen(
                start(channel),
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=self._log,
                env=_environment(caches),
                pass_fds=(channel,),
                start_new_session=True,
            )
        finally:
            os.close(channel)

    def __enter__(self) -> Worker:
        try:
            if self._next(max(self._timeout, _START))["event"] != "ready":
                raise Broken("a worker must say that it is ready")
        except (Died, Hung) as error:
            tail = self._tail()
            self._end()
            raise Broken(f"a worker {error} before its first entry:\n{tail}") from None
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def check(self, op: str) -> Iterator[Event]:
        """The events of one entry. Raises `Died`, `Hung` and `Broken`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{op}\n".encode())
            self._process.stdin.flush()
            while (event := self._next(self._timeout))["event"] != "done":
                if event.pop("event") == "broken":
                    raise Broken(f"the compile checks of {op} failed:\n{event['message']}")
                yield Event(**event)
        except BrokenPipeError:
            raise self._lost() from None
        except (Died, Hung):
            self.alive = False
            raise

    def _next(self, seconds: float) -> dict[str, Any]:
        """The next event, waited for."""
        limit = time.monotonic() + seconds
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self._events], [], [], _GLANCE)
            if self._stop.is_set():
                raise Hung("was told to stop")
            if ready:
                data = os.read(self._events, 1 << 16)
                if not data:
                    raise self._lost()
                self._pending += data
            elif time.monotonic() > limit:
                raise Hung(f"did not in {seconds:g} seconds")
        line, _, self._pending = self._pending.partition(b"\n")
        return dict(json.loads(line))

    def _lost(self) -> Died:
        """How the process ended, which has closed its channel."""
        self.alive = False
        try:
            status = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return Died("closed its channel")
        if status < 0:
            return Died(f"was ended by {signal.Signals(-status).name}")
        return Died(f"ended with status {status}")

    def _tail(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-4000:]

    def _end(self) -> None:
        """Ends the process and what it started."""
        self.alive = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._held.close()


def _environment(caches: str) -> dict[str, str]:
    """Compile caches that nobody wrote, one thread for each of the workers that share the cores."""
    rest = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "TILEOPS_STATIC")}
    return {
        **rest,
        "TORCHINDUCTOR_CACHE_DIR": caches,
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
