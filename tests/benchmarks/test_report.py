"""Pages and comparisons: which lines count, what is a loss, what is a regression."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.report import plots, reasons
from benchmarks.report.read import read

COPY = {"name": "copy", "rate": 4e12, "unit": "B/s"}
MATRIX = {"name": "bfloat16 matmul", "rate": 7e14, "unit": "FLOP/s"}
SPREAD = (1.0, 1.002, 0.998, 1.001, 0.999)


def kernel_row(ours: float, other: float, **more: Any) -> dict[str, Any]:
    repeats = {
        "tileops": [ours * s for s in SPREAD],
        "kernel": [ours * s for s in SPREAD],
        "cublas": [other * s for s in SPREAD],
    }
    return {
        "op": "AFwdOp", "family": "gemm", "served": "row", "declined": {}, "error": 1e-3,
        "wrong": False, "us": {name: items[0] for name, items in repeats.items()},
        "repeats": repeats, "ours": ["tileops", "kernel"], "failures": {}, "seconds": {"inputs": 1},
        "flops": 10**9, "bytes": 10**7, "bytes_per_s": 1e13 / ours, "flops_per_s": 1e15 / ours,
        "bound": "memory", "floor_us": 2.5, "of_ceiling": 2.5 / ours, "ceiling": COPY,
        "ceilings": [COPY, MATRIX], **more,
    }  # fmt: skip


def line(case: str, values: dict[str, Any] | None, **more: Any) -> str:
    item: dict[str, Any] = {
        "benchmark": "kernels", "case": case, "run": "a", "date": "2026-12-01T10:00:00+00:00",
        "machine": {"cpu": "a", "cores": 16, "gpu": "GPU"}, "versions": {"torch": "2.11"}, **more,
    }  # fmt: skip
    return json.dumps(item | ({"failed": "broken"} if values is None else {"values": values}))


def written(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{item}\n" for item in lines), "utf-8")
    return path


def test_the_newest_line_of_a_case_counts_and_other_machines_do_not(tmp_path: Path) -> None:
    late = {"date": "2026-12-02T10:00:00+00:00"}
    path = written(
        tmp_path / "kernels.jsonl",
        line("elsewhere", kernel_row(1, 1), machine={"cpu": "b", "cores": 2, "gpu": None}),
        line("a", kernel_row(1, 1)),
        line("b", kernel_row(1, 1)),
        line("a", kernel_row(2, 1), **late),
        line("b", None, **late),
    )
    found = read([path])["kernels"]
    assert list(found.lines) == ["a"] and found.values["a"]["us"]["tileops"] == 2
    assert found.failed == {"b": "broken"} and found.left_out == 1
    assert found.where == "GPU, 16 cores, torch 2.11, 2026-12-01 to 2026-12-02"


def test_a_page_lists_losses_with_who_won_and_why(tmp_path: Path, capsys: Any) -> None:
    path = written(
        tmp_path / "kernels.jsonl",
        line("gemm fine", kernel_row(10, 20)),
        line("gemm slow", kernel_row(20, 10)),
        line("gemm tied", kernel_row(10, 9.95)),
        line("gemm declined", kernel_row(11, 10, served="reference", declined={"row": "too long"})),
    )
    assert main(["report", str(path), "--out", str(tmp_path / "page")]) == 0
    page = (tmp_path / "page" / "report.md").read_text("utf-8")
    assert capsys.readouterr().out.strip() == str(tmp_path / "page" / "report.md")
    losses = page.partition("### Losses")[2].partition("### gemm")[0]
    assert "2 of 4 rows." in losses
    assert "gemm slow | 20 | cublas | 10 | 0.5 |" in losses
    assert "no kernel takes the row (row: too long)" in losses
    assert "gemm fine" not in losses and "gemm tied" not in losses
    assert losses.index("gemm slow") < losses.index("gemm declined")
    # A tie counts as 1 in the mean: (2 * 0.5 * 1 * 10 / 11) ** (1 / 4).
    assert "| gemm | 4 | 0.976 |" in page
    assert "copy 4 TB/s, bfloat16 matmul 700 TFLOP/s" in page
    assert "Under 0.8 of the best other: gemm slow, 0.50." in page


def test_a_page_has_plots_beside_it(tmp_path: Path) -> None:
    import matplotlib  # noqa: F401

    path = written(
        tmp_path / "kernels.jsonl",
        *(line(f"gemm row {at}", kernel_row(10 + at, 20)) for at in range(50)),
    )
    assert main(["report", str(path), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.md").read_text("utf-8")
    for name in ("roofline-gemm.png", "ratios-gemm.png"):
        assert f"({name})" in page
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_page_without_matplotlib_says_so(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(plots, "available", lambda: False)
    path = written(tmp_path / "kernels.jsonl", line("gemm a", kernel_row(1, 1)))
    assert main(["report", str(path), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.md").read_text("utf-8")
    assert "There are no plots: matplotlib is not installed" in page
    assert ".png" not in page and not list(tmp_path.glob("*.png"))


def test_a_roof_has_a_ridge_where_it_turns_flat() -> None:
    assert plots._roof([1.0, 1000.0], 4e12, 4e14) == ([1.0, 100.0, 1000.0], [4e12, 4e14, 4e14])
    assert plots._roof([1.0, 10.0], 4e12, 4e14) == ([1.0, 10.0], [4e12, 4e13])
    assert plots._roof([1.0, 10.0], 4e12, None) == ([1.0, 10.0], [4e12, 4e13])


def test_a_recorded_reason_comes_before_what_the_line_tells(monkeypatch: Any) -> None:
    monkeypatch.setattr(reasons, "known", lambda file: {"gemm": "short", "gemm slow": "long"})
    assert reasons.reason_of("gemm slow", kernel_row(2, 1)) == "long"
    assert reasons.reason_of("gemm b", kernel_row(2, 1)) == "short"
    around = kernel_row(2, 1, us={"tileops": 3.0, "kernel": 2.0, "cublas": 1.0})
    assert reasons.reason_of("norm a", around) == "the operator adds 1.0 us to its kernel"
    assert reasons.reason_of("norm a", kernel_row(2, 1)) == "not known"


def test_the_recorded_reasons_can_be_read() -> None:
    assert all(part and reason for part, reason in reasons.known(reasons.FILE).items())


def compared(tmp_path: Path, before: list[str], after: list[str]) -> int:
    a = written(tmp_path / "a" / "kernels.jsonl", *before)
    b = written(tmp_path / "b" / "kernels.jsonl", *after)
    return main(["compare", str(a), str(b)])


def test_slower_beyond_the_band_is_a_regression(tmp_path: Path, capsys: Any) -> None:
    before = [line("a", kernel_row(10, 20)), line("b", kernel_row(10, 20))]
    after = [line("a", kernel_row(10.5, 20)), line("b", kernel_row(9, 20))]
    assert compared(tmp_path, before, after) == 1
    text = capsys.readouterr().out
    slower, _, faster = text.partition("faster")
    assert "kernels a" in slower and "kernels b" not in slower and "kernels b" in faster
    assert "4 figures compared: 2 slower, 2 faster" in text


@pytest.mark.parametrize("ours", [10.0, 10.1, 9.0])
def test_the_controls_are_no_regressions(tmp_path: Path, ours: float) -> None:
    assert (
        compared(tmp_path, [line("a", kernel_row(10, 20))], [line("a", kernel_row(ours, 20))]) == 0
    )


def test_noise_hides_what_it_may_have_made(tmp_path: Path) -> None:
    noisy = kernel_row(10.5, 20)
    noisy["repeats"]["tileops"] = noisy["repeats"]["kernel"] = [10.5, 11.5, 9.5, 10.4, 10.6]
    assert compared(tmp_path, [line("a", kernel_row(10, 20))], [line("a", noisy)]) == 0


def test_a_baseline_that_got_slower_is_not_ours(tmp_path: Path) -> None:
    assert compared(tmp_path, [line("a", kernel_row(10, 20))], [line("a", kernel_row(10, 40))]) == 0


def test_a_case_that_fails_now_is_a_regression(tmp_path: Path, capsys: Any) -> None:
    assert compared(tmp_path, [line("a", kernel_row(10, 20))], [line("a", None)]) == 1
    assert "fails now: kernels a: broken" in capsys.readouterr().out
    more = [line("a", kernel_row(10, 20)), line("b", kernel_row(10, 20))]
    assert compared(tmp_path, more, more[:1]) == 0
    assert "1 cases are only in the first" in capsys.readouterr().out


def test_times_of_two_machines_are_not_compared(tmp_path: Path, capsys: Any) -> None:
    other = {"machine": {"cpu": "b", "cores": 2, "gpu": "another"}}
    before, after = [line("a", kernel_row(10, 20))], [line("a", kernel_row(20, 20), **other)]
    assert compared(tmp_path, before, after) == 2
    assert "times of two machines are not compared" in capsys.readouterr().out

    def host(ours: float) -> dict[str, Any]:
        repeats = {"tileops": [ours * s for s in SPREAD], "bare": [10 * s for s in SPREAD]}
        return {"repeats": repeats, "against": "bare", "ours": ["tileops", "inlined"]}

    # Ratios are, as the line says against what.
    assert compared(tmp_path, [line("a", host(20))], [line("a", host(20), **other)]) == 0
    assert compared(tmp_path, [line("a", host(20))], [line("a", host(30), **other)]) == 1
    assert "tileops to bare" in capsys.readouterr().out


def test_figures_without_repeats_have_an_assumed_band(tmp_path: Path) -> None:
    def checked(seconds: float) -> str:
        values = {"seconds": seconds, "ms_per_entry": 3.0, "cases": 4, "read_s": 1.0}
        return line("20 entries", values, benchmark="validate")

    assert compared(tmp_path, [checked(1.0)], [checked(1.15)]) == 0
    assert compared(tmp_path, [checked(1.0)], [checked(1.5)]) == 1


def test_a_stored_baseline_compares_like_the_lines_it_was_made_of(tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "kernels.jsonl", line("a", kernel_row(10, 20)))
    kept = tmp_path / "kept"
    assert main(["baseline", str(first), "--to", str(kept)]) == 0
    stored = json.loads((kept / "kernels.jsonl").read_text("utf-8"))
    assert set(stored["values"]) == {"repeats", "ours"}
    assert set(stored["values"]["repeats"]) == {"tileops", "kernel"}
    assert main(["compare", str(kept), str(first)]) == 0
    slower = written(tmp_path / "b" / "kernels.jsonl", line("a", kernel_row(11, 20)))
    assert main(["compare", str(kept), str(slower)]) == 1


def test_nothing_to_read_is_said(tmp_path: Path, capsys: Any) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "nothing that both have" in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        main(["compare", str(tmp_path / "none.jsonl"), str(tmp_path)])
    assert refused.value.code == 2
