"""`python -m benchmarks [name ...]`: the command line of the benchmarks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import compare, report, results
from benchmarks.case import Options
from benchmarks.catalog import benchmarks
from benchmarks.runner import Request, run


def main(arguments: list[str] | None = None) -> int:
    """Runs the named benchmarks, or all; or reads what they wrote."""
    arguments = sys.argv[1:] if arguments is None else arguments
    readers = {"report": report.main, "compare": compare.main, "baseline": compare.store}
    if arguments and arguments[0] in readers:
        return readers[arguments[0]](arguments[1:])
    known = benchmarks()
    names = "\n".join(f"  {name:12} {item.summary}" for name, item in known.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Measures tileops. The benchmarks are:\n{names}\n\n"
        "Of their results: `report [FILES]` writes a page with plots, `baseline [FILES]` stores\n"
        "them, `compare [A [B]]` shows what got slower; each has --help.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="a benchmark; all by default")
    parser.add_argument("--seconds", type=float, help="starts no case after that many seconds")
    parser.add_argument("--resume", action="store_true", help="leaves out what the last run did")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="cases whose name contains TEXT; may be given again")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a few small cases of each")
    parser.add_argument("--no-compile", action="store_true", help="torch.compile left out")
    parser.add_argument("--workers", type=int, default=0, metavar="N",
                        help="processes that compile ahead; 1 for none")  # fmt: skip
    parser.add_argument("--results", type=Path, default=results.FOLDER, help="folder of the lines")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in known:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    every = [name for name, item in known.items() if not item.by_name_only]
    return run(
        [known[name] for name in given.names or every],
        Request(
            Options(given.quick, not given.no_compile, given.workers),
            given.results,
            given.seconds,
            given.resume,
            tuple(given.only),
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
