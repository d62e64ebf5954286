"""A page about result lines: `python -m benchmarks report [FILES]`.

In: files of JSON lines (read.py). Out: a folder with report.md (page.py) and PNG plots beside it
(plots.py), which need matplotlib; without it the page has tables alone and says so.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import results


def main(arguments: list[str]) -> int:
    """Writes the page."""
    from benchmarks.report import page
    from benchmarks.report.read import read

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks report",
        description="Writes a Markdown page with tables and plots about result files.",
    )
    parser.add_argument("files", nargs="*", type=Path,
                        help="result files or folders; the results by default")  # fmt: skip
    parser.add_argument("--out", type=Path, default=results.FOLDER / "report", metavar="DIR",
                        help="folder of the page and its plots")  # fmt: skip
    given = parser.parse_args(arguments)
    try:
        found = read(given.files or [results.FOLDER])
    except FileNotFoundError as error:
        parser.error(str(error))
    if not found:
        print("there are no result lines to report on")
        return 2
    print(page.write(found, given.out))
    return 0
