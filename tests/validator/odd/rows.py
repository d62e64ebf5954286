"""Workloads, metadata, cost models and compositions with one fault."""

from __future__ import annotations

from tests.validator.odd import BASE, changed

_ROWS = BASE[BASE.index("  workloads") : BASE.index("  roofline")]


def with_rows(text: str) -> str:
    """The entry with other workloads."""
    return BASE.replace(_ROWS, text)


CASES: dict[str, str] = {
    "wl map": with_rows("  workloads: {label: plain}\n"),
    "wl str": with_rows("  workloads: plain\n"),
    "wl null": with_rows("  workloads:\n"),
    "wl empty": with_rows("  workloads: []\n"),
    "wl of str": with_rows("  workloads: [plain, full]\n"),
    "row unknown": changed(("label: plain,", "label: plain, Q: 3,")),
    "row let": changed(("label: plain,", "label: plain, L: 3,")),
    "row generated": changed(("label: plain,", "label: plain, B: 2,")),
    "row missing": changed(("label: plain, M: 2,", "label: plain,")),
    "row missing lens": changed(
        (
            " Lens: [3, 5], dtype_cases: [{T: float16, U: float16}]}",
            " dtype_cases: [{T: float16, U: float16}]}",
        )
    ),
    "row no label": changed(("label: plain, ", "")),
    "row label long": changed(("label: plain", "label: " + "a" * 25)),
    "row label space": changed(("label: plain", 'label: "a b"')),
    "row label uni": changed(("label: plain", "label: é")),
    "label collide": changed(("label: full", "label: plain")),
    "case id collide": changed(
        (
            "dtype_cases: [{T: float16, U: float16}]",
            "dtype_cases: [{T: float16, U: float16}, {T: float16, U: float16}]",
        )
    ),
    "dtype_cases missing": changed((", dtype_cases: [{T: float16, U: float16}]", "")),
    "dtype_cases str": changed(("dtype_cases: [{T: float16, U: float16}]", "dtype_cases: float16")),
    "dtype_cases empty": changed(("dtype_cases: [{T: float16, U: float16}]", "dtype_cases: []")),
    "dtype_cases partial": changed(
        ("dtype_cases: [{T: float16, U: float16}]", "dtype_cases: [{T: float16}]")
    ),
    "dtype_cases off combo": changed(
        ("dtype_cases: [{T: float16, U: float16}]", "dtype_cases: [{T: float16, U: float32}]")
    ),
    "dtype_cases out of set": changed(
        ("dtype_cases: [{T: float16, U: float16}]", "dtype_cases: [{T: bfloat16, U: float16}]")
    ),
    "dtype_cases not dtype": changed(
        ("dtype_cases: [{T: float16, U: float16}]", "dtype_cases: [{T: half, U: float16}]")
    ),
    "dtype_cases extra": changed(
        (
            "dtype_cases: [{T: float16, U: float16}]",
            "dtype_cases: [{T: float16, U: float16, V: float16}]",
        )
    ),
    "some unknown": changed(("some: [bias, acc]", "some: [bias, acd]")),
    "some required": changed(("some: [bias, acc]", "some: [bias, acc, w]")),
    "some dup": changed(("some: [bias, acc]", "some: [bias, bias, acc]")),
    "some str": changed(("some: [bias, acc]", "some: bias")),
    "some none covered": changed(
        ("status: spec-only", "status: implemented"), ("some: [bias, acc]", "some: [acc]")
    ),
    "some always": changed(
        ("status: spec-only", "status: implemented"),
        ("label: plain,", "label: plain, some: [bias, acc],"),
    ),
    "param wrong enum": changed(("mode: mean", "mode: max")),
    "param wrong type": changed(("wide: true", "wide: 1")),
    "param yes": changed(("wide: true", "wide: yes")),
    "lens neg": changed(("Lens: [3, 5], dtype", "Lens: [-3, 11], dtype")),
    "lens call": changed(("Lens: [3, 5], dtype", 'Lens: "balanced_sizes(8, 2)", dtype')),
    "lens call bad": changed(("Lens: [3, 5], dtype", 'Lens: "balanced_sizes(8, 0)", dtype')),
    "lens call arity": changed(("Lens: [3, 5], dtype", 'Lens: "balanced_sizes(8)", dtype')),
    "lens call name": changed(("Lens: [3, 5], dtype", 'Lens: "balanced_sizes(N, 2)", dtype')),
    "lens call nonvalue": changed(("Lens: [3, 5], dtype", 'Lens: "max([1,2])", dtype')),
    "lens huge": changed(("Lens: [3, 5], dtype", 'Lens: "repeat(1, 100000000000)", dtype')),
    "lens overflow": changed(("Lens: [3, 5], dtype", "Lens: [3000000000, 5], dtype")),
    "lens empty": changed(("Lens: [3, 5], dtype", "Lens: [], dtype")),
    "gen unknown": changed(("prefix_sum(Lens)", "prefixsum(Lens)")),
    "gen arity": changed(("prefix_sum(Lens)", "prefix_sum(Lens, 3)")),
    "gen none": changed(("prefix_sum(Lens)", "prefix_sum()")),
    "gen kind": changed(("prefix_sum(Lens)", "prefix_sum(N)")),
    "gen not call": changed(("prefix_sum(Lens)", "Lens")),
    "gen rank": changed(('"prefix_sum(Lens)"', '"token_indices(Lens)"')),
    "gen dtype": changed(("offs: {dtype: int32", "offs: {dtype: float32")),
    "gen dtype8": changed(("offs: {dtype: int32", "offs: {dtype: int8")),
    "gen shape": changed(('"[B + 1]"', '"[B]"')),
    "gen keyword": changed(("prefix_sum(Lens)", "prefix_sum(x=Lens)")),
    "req unknown": changed(("prefix_offsets(N)", "prefix_offset(N)")),
    "req arity": changed(("prefix_offsets(N)", "prefix_offsets()")),
    "req fails": changed(("prefix_offsets(N)", "prefix_offsets(N + 1)")),
    "req tensor": changed(("prefix_offsets(N)", "indices_within(x)")),
    "req str": changed(('requires: ["prefix_offsets(N)"]', 'requires: "prefix_offsets(N)"')),
    "req no values": changed((', values: "prefix_sum(Lens)"', "")),
    "values on float": changed(
        (
            'bias: {dtype: float32, shape: "[M]", optional: true',
            'bias: {dtype: float32, shape: "[M]", optional: true, values: "full([M], 1)"',
        )
    ),
    "combo keys": changed(("{T: float32, U: float32}]\n  work", "{T: float32}]\n  work")),
    "combo dup": changed(
        ("{T: float32, U: float32}]\n  work", "{T: float16, U: float16}]\n  work")
    ),
    "combo value": changed(
        ("{T: float32, U: float32}]\n  work", "{T: float64, U: float32}]\n  work")
    ),
    "combo unknown": changed(
        ("{T: float32, U: float32}]\n  work", "{T: float32, V: float32}]\n  work")
    ),
    "combo notdtype": changed(("{T: float32, U: float32}]\n  work", "{T: 3, U: float32}]\n  work")),
    "combo list": changed(
        ("[{T: float16, U: float16}, {T: float32, U: float32}]\n", "{T: float16, U: float16}\n")
    ),
    "combo empty": changed(("[{T: float16, U: float16}, {T: float32, U: float32}]\n", "[]\n")),
    "roof neither": changed(('{flops: "N * M", bytes: "N * M * 4"}', "{}")),
    "roof both": changed(('bytes: "N * M * 4"}', "func: a.b}")),
    "roof list": changed(('{flops: "N * M", bytes: "N * M * 4"}', "[1]")),
    "roof float": changed(('"N * M"', '"N * 0.5"')),
    "roof lit float": changed(('"N * M"', "2.5")),
    "roof neg": changed(('"N * M"', '"N - 1000"')),
    "roof name": changed(('"N * M"', '"N * Q"')),
    "roof Lens": changed(('"N * M"', '"sum(Lens)"')),
    "roof bytes()": changed(('"N * M * 4"', '"bytes(x) + bytes(y)"')),
    "roof bytes opt": changed(('"N * M * 4"', '"bytes(bias)"')),
    "roof bytes unk": changed(('"N * M * 4"', '"bytes(zz)"')),
    "roof func": changed(('{flops: "N * M", bytes: "N * M * 4"}', '{func: "os.system(1)"}')),
    "roof div0": changed(('"N * M"', '"N // (M - 2)"')),
    "comp empty": BASE + "  composition: {kind: composite, stages: []}\n",
    "comp kind": BASE + "  composition: {kind: other, stages: [{name: a, kernel: b}]}\n",
    "comp op unk": BASE + "  composition: {kind: composite, stages: [{name: a, op: NopeFwdOp}]}\n",
    "comp self": BASE + "  composition: {kind: composite, stages: [{name: a, op: MixFwdOp}]}\n",
    "comp both": BASE
    + "  composition: {kind: composite, stages: [{name: a, op: MixFwdOp, kernel: b}]}\n",
    "comp neither": BASE + "  composition: {kind: composite, stages: [{name: a}]}\n",
    "comp dup": BASE
    + "  composition: {kind: composite, stages: [{name: a, kernel: k}, {name: a, kernel: j}]}\n",
    "comp opt": BASE
    + '  composition: {kind: composite, stages: [{name: a, kernel: k, optional: "yes"}]}\n',
    "comp str": BASE + "  composition: {kind: composite, stages: [a]}\n",
    "comp list": BASE + "  composition: [a]\n",
    "comp map": BASE + "  composition: {kind: composite, stages: {a: b}}\n",
    "comp name": BASE + "  composition: {kind: composite, stages: [{name: 1, kernel: k}]}\n",
    "comp name2": BASE
    + '  composition: {kind: composite, stages: [{name: "a b", kernel: "../k"}]}\n',
}
