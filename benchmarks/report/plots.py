"""The plots of a page: rooflines and ratios of each family, and times of forms side by side.

In: values of cases, and a folder. Out: PNG files there, each with a sentence about it; nothing
without matplotlib. Colours tell wins, ties and losses apart for colour-blind readers too.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import end_to_end
from benchmarks.case import Values
from benchmarks.kernels import judge, table
from benchmarks.report.read import Measured

WIN, TIE, LOSS = "#2166ac", "#8c8c8c", "#d6604d"
#: Bars of one plot; of more rows the worst are drawn.
MOST_BARS = 40
# The lines have forms in alphabetical order.
_ORDER = ("tileops", "class", "inlined", "kernel inlined", "bare", "custom_op", "reference", "aten")
Picture = tuple[Path, str]


def available() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def of_family(family: str, rows: Mapping[str, Values], folder: Path) -> Iterator[Picture]:
    """Roofline and ratios of a family's rows."""
    if available() and rows:
        yield roofline(family, rows, folder / f"roofline-{family}.png")
        yield ratios(family, rows, folder / f"ratios-{family}.png")


def of_benchmark(measured: Measured, folder: Path) -> Picture | None:
    """Times of forms side by side, for the benchmarks that have forms."""
    found = _FORMS.get(measured.benchmark)
    if not available() or found is None:
        return None
    times, label = found
    values = {case: times(item) for case, item in measured.values.items()}
    return bars(values, label, folder / f"{measured.benchmark}.png")


def _to_plain(item: Values) -> dict[str, float]:
    """Ours over the plain form that runs alike: phases differ too much to share an axis."""
    return {form: item["ms"][form] / item["ms"][plain] for form, plain in end_to_end.pairs(item)}


_FORMS: dict[str, tuple[Callable[[Values], dict[str, float]], str]] = {
    "dispatch": (lambda item: item["us"], "host time of a call, us"),
    "end_to_end": (_to_plain, "time / that of plain torch.compile; below 1 ours is faster"),
    "cold_compile": (lambda item: item["seconds"], "import and first call, s"),
}


def roofline(family: str, rows: Mapping[str, Values], path: Path) -> Picture:
    """FLOP/s of each row over its FLOPs a byte, under the ceilings it is held against."""
    figure, axes = _figure(7.0, 4.8)
    points = [
        (max(item["flops"], 1) / max(item["bytes"], 1), max(item["flops_per_s"], 1.0), item)
        for item in rows.values()
    ]
    for colour, name in ((WIN, "faster"), (TIE, "tie"), (LOSS, "slower")):
        some = [(x, y) for x, y, item in points if colour_of(item) == colour]
        if some:
            axes.scatter(*zip(*some, strict=True), s=22, color=colour, alpha=0.8, zorder=3,
                         label=f"{name} ({len(some)})")  # fmt: skip
    found = table.ceilings(dict(rows))
    copy = next((c for c in found if c.name == "copy"), None)
    flat = sorted((c for c in found if c.name != "copy"), key=lambda c: c.rate)
    low, high = min(x for x, _, _ in points), max(x for x, _, _ in points)
    span = [low / 3, max(high * 3, low * 30)]
    if copy is not None:
        # A ceiling beyond the right end of the plot bounds nothing there.
        flat = [ceiling for ceiling in flat if ceiling.rate / copy.rate < span[1]]
        for at, ceiling in enumerate(flat or [None]):
            xs, ys = _roof(span, copy.rate, None if ceiling is None else ceiling.rate)
            style = ("-", "--", ":", "-.")[at % 4]
            label = str(copy) if ceiling is None else f"{copy}, {ceiling}"
            axes.plot(xs, ys, color="black", linewidth=1.2, linestyle=style, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(span)
    axes.set_ylim(bottom=10 ** math.floor(math.log10(min(y for _, y, _ in points))))
    axes.set_xlabel("arithmetic intensity, FLOP/B")
    axes.set_ylabel("rate, FLOP/s")
    axes.set_title(f"{family}: roofline")
    figure.legend(fontsize=8, loc="outside lower center", ncols=2, frameon=False)
    return _saved(figure, path), f"Roofline of {family}"


def _roof(
    span: Sequence[float], bandwidth: float, peak: float | None
) -> tuple[list[float], list[float]]:
    """The corners of a roof: the slope up to the ridge, flat from there."""
    xs = list(span)
    if peak is not None and span[0] < peak / bandwidth < span[1]:
        xs.insert(1, peak / bandwidth)
    top = float("inf") if peak is None else peak
    return xs, [min(x * bandwidth, top) for x in xs]


def ratios(family: str, rows: Mapping[str, Values], path: Path) -> Picture:
    """A bar for each row with a baseline, the worst at the top, with its band."""
    found = [(judge.against(item), name, item) for name, item in rows.items()]
    ordered = sorted(
        ((ratio, name, item) for ratio, name, item in found if ratio is not None),
        key=lambda entry: entry[0].median,
    )
    drawn = ordered[:MOST_BARS]
    figure, axes = _figure(8.0, 1.2 + 0.22 * max(len(drawn), 4))
    places = range(len(drawn))
    axes.barh(
        places, [ratio.median - 1 for ratio, _, _ in drawn], left=1.0, height=0.7,
        color=[colour_of(item) for _, _, item in drawn],
        xerr=[ratio.band * ratio.median for ratio, _, _ in drawn],
        error_kw={"elinewidth": 0.8, "ecolor": "black"},
    )  # fmt: skip
    labels = [f"{_short(name, family)} ({_winner(item)})" for _, name, item in drawn]
    axes.set_yticks(places, labels, fontsize=7)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=1.0)
    axes.axvline(judge.FLAGGED, color=LOSS, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    _plain_ticks(axes, [ratio.median for ratio, _, _ in drawn])
    axes.set_xlabel("time of the fastest baseline (in brackets) / ours; right of 1 ours is faster")
    left = f", the worst {len(drawn)} of {len(ordered)} rows" if len(drawn) < len(ordered) else ""
    axes.set_title(f"{family}: against the fastest baseline{left}")
    return _saved(figure, path), f"Ratios of {family} to the fastest baseline"


def bars(times: Mapping[str, Mapping[str, float]], label: str, path: Path) -> Picture:
    """A group of bars for each case, one for each form, in the forms' own order."""
    from matplotlib import colormaps

    forms = list(dict.fromkeys(form for item in times.values() for form in item))
    forms.sort(key=lambda form: _ORDER.index(form) if form in _ORDER else len(_ORDER))
    figure, axes = _figure(8.0, 1.4 + 0.16 * len(times) * (len(forms) + 1))
    palette = colormaps["tab10"]
    height = 0.85 / max(len(forms), 1)
    for at, form in enumerate(forms):
        some = [(row + at * height, item[form]) for row, item in enumerate(times.values())
                if form in item]  # fmt: skip
        axes.barh(*zip(*some, strict=True), height=height, color=palette(at % 10), label=form)
    middle = 0.425 - height / 2
    axes.set_yticks([row + middle for row in range(len(times))], list(times), fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _saved(figure, path), f"Bars: {label}"


def colour_of(item: Values) -> str:
    """By the row's ratio to the fastest baseline."""
    ratio = judge.against(item)
    if ratio is None or ratio.tie:
        return TIE
    return WIN if ratio.median > 1 else LOSS


def _winner(item: Values) -> str:
    best = judge.best_baseline(item)
    return "-" if best is None else best[0]


def _short(name: str, family: str) -> str:
    text = name.removeprefix(f"{family} ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain_ticks(axes: Any, values: Sequence[float]) -> None:
    """Ratios as they are said, instead of powers of ten."""
    from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter

    low, high = min([*values, 0.8]) * 0.9, max([*values, 1.25]) * 1.1
    marks = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([mark for mark in marks if low <= mark <= high]))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """Without pyplot, which would keep every figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=130)
    return path
