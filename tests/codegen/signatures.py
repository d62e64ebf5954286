"""Random signatures and calls of them: small, dense in the features of the language.

In: hypothesis. Out: the text of a signature, and calls that satisfy it but for a mutation.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.codegen.harness import Subject
from tileops.manifest.language.evaluate import evaluate, evaluate_shape
from tileops.manifest.language.symbolic import DomainError
from tileops.manifest.signature.alternatives import alternatives
from tileops.manifest.signature.interpret import TensorMeta
from tileops.manifest.signature.model import Tensor

PARAMS = {
    "k": "{type: int, default: 1}",
    "b": "{type: bool, default: false}",
    "e": "{type: \"'a' | 'b' | 'c'\", default: a}",
    "l": '{type: "list[int]", default: [2]}',
    "q": '{type: "int | None", default: null}',
    "d": '{type: "float16 | float32", default: float32}',
    "f": "{type: float, default: 0.5}",
    "z": '{type: "int | tuple[int, int]", default: 2}',
    "n": '{type: "int | float", default: 1}',
    "layout": "{type: MGroupedLayout, default: {masked: {max_m: 2}}}",
}
AXES = (
    "A", "B", "C", "A", "B", "3", "k", "2 * A", "A + k", "B - 1", "2 * B + 1", "k + C", "A * B",
    "(A + 1) * 2", "A if b else 2 * A", "2 * B if present(w) else B", "C + 1 if e == 'a' else C",
    "L", "N", "q.value if present(q) else 4", "A // 2", "ceil_div(B, 2)", "max(l, default=1)",
    "per_axis(z, 0, 2)", "len(S)", "prod(S)", "sum(d * 2 for d in l)", "A % 3", "S[0]", "-k + 4",
    "layout.max_m if layout.kind == 'masked' else layout.alignment",
    "conv.out(A, 2, k, 1, 1)", "pool.out(B, 2, 2, 0, 1, b)", "moe.capacity(layout, A, 2)",
)  # fmt: skip
SPLICES = ("*S", "*S", "*R", "*l", "*broadcast(S, R)", "*reduced(S, 0, b, 'full')", "*V")
APPLICATIONS = ("Two[A, B, b]", "Two[B, C, b]", "Pick[A, B, e]", "Pick[C, A + 1, e]", "May[A, q]",
                "Both[A, B, b, e]", "Lay[A, B, layout]")  # fmt: skip
FAMILIES = """\
  Two:
    params: {R: Dim, Q: Dim, t: Bool}
    match: t
    cases: [{when: false, is: "[R, Q]"}, {when: true, is: "[Q, R]"}]
  Pick:
    params: {R: Dim, Q: Dim, e: "'a' | 'b' | 'c'"}
    match: e
    cases: [{when: a, is: "[R]"}, {when: b, is: "[R, 2 * Q]"}, {when: c, is: "[Q]"}]
  May:
    params: {R: Dim, q: "int | None"}
    match: present(q)
    cases: [{when: true, is: "[R, q.value]"}, {when: false, is: "[R]"}]
  Both:
    params: {R: Dim, Q: Dim, t: Bool, e: "'a' | 'b' | 'c'"}
    match: [t, e]
    cases: [{when: [true, _], is: "Pick[R, Q, e]"}, {when: [false, a], is: "[R + 1]"}, {when: [false, b], is: "[Q]"}, {when: [false, c], is: "[]"}]
  Lay:
    params: {R: Dim, Q: Dim, layout: MGroupedLayout}
    match: layout
    cases: [{when: {masked: _}, is: "[R, layout.max_m]"}, {when: {contiguous: {packing: tight}}, is: "[R]"}, {when: {contiguous: {packing: aligned}}, is: "[Q, R]"}]
"""
RULES = (
    "A > 1", "A == B", "A == 2 * B or C > 0", "not present(w) or A > 1", "b or A % 2 == 0",
    "e != 'c'", "e == 'a' or B > 1", "all(n > 0 for n in l)", "len(S) > 0", "f > 0 or b", "k >= 0",
    "not present(q) or q > 1", "T != 'float16' or A > 1", "valid_axes(k, len(S))", "A < B < C",
    "unique_axes(l, 3)", "not (b and e == 'b')", "representable(f, T)", "C in (1, 2, 4)", "A in S",
    "category(n) != 'float' or A > 1", "S == R", "N > 0", "(B if b else C) > 1", "S < R",
    "layout.kind == 'masked' or layout.alignment > 1", "not present(w) or not present(v)",
    "A // k > 0", "not (A > 2 and B > 2)", "max(S) > 1", "d == 'float32' or T == d",
)  # fmt: skip
LETS = {
    "L": ("A + B", "A - B", "A * k", "max(l, default=0)", "3 if b else A", "N + 1"),
    "N": ("C * 2", "B - k", "S[0]", "per_axis(z, 1, 2)", "len(S)", "A if A > 1 else B"),
    "V": ("reduced(S, -1, False, 'full')", "S[1:]", "broadcast(S, (1,))", "l"),
}
DTYPES = ("T", "T", "U", "float32", "d", "promote_types(T, U)", "float_result(U)")
PRESENCES = ("b", "e == 'a'", "present(q)", "present(w)", "not b", "e in ('a', 'b')", "True",
             "layout.kind == 'masked'", "b and e != 'c'")  # fmt: skip


@st.composite
def shapes(draw: st.DrawFn, splices: int) -> str:
    """A shape of a few items."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(APPLICATIONS))
    items = draw(st.lists(st.sampled_from(AXES), max_size=3))
    for splice in draw(st.lists(st.sampled_from(SPLICES), max_size=splices)):
        items.insert(draw(st.integers(0, len(items))), splice)
    return f"[{', '.join(items)}]"


@st.composite
def signatures(draw: st.DrawFn) -> str:
    """The text of a signature; it need not be solvable."""
    lines = ["forall: {A: Dim, B: Dim, C: Dim, S: Shape, R: Shape,"
             ' T: "DType[float16 | float32]", U: "DType[int32 | float32]"}']  # fmt: skip
    lines += ["params:", *(f"  {name}: {text}" for name, text in PARAMS.items())]
    if draw(st.booleans()):
        lines.append('  table: {dtype: float32, shape: "[C, 2]"}')
        lines[1:] = ["params:", lines.pop(), *lines[2:]]
    lines.append("inputs:")
    anchors = draw(
        st.permutations(
            [
                'x: {dtype: T, shape: "[A, B]"}',
                'y: {dtype: U, shape: "[*S, C]"}',
                'i: {dtype: T, shape: "[*R]"}',
            ]
        )
    )
    inputs = list(anchors[: draw(st.integers(0, 3))])
    for name in ("u", "v1")[: draw(st.integers(0 if inputs else 1, 2))]:
        dtype = draw(st.sampled_from(DTYPES))
        inputs.append(f'{name}: {{dtype: "{dtype}", shape: "{draw(shapes(2))}"}}')
    inputs = draw(st.permutations(inputs))
    inputs += [f'w: {{dtype: T, shape: "{draw(shapes(1))}", optional: true}}']
    inputs += [
        f'v: {{dtype: float32, shape: "{draw(shapes(1))}", optional: "{draw(st.sampled_from(PRESENCES))}"}}'
    ]
    lines += [f"  {item}" for item in inputs]
    lines.append("outputs:")
    buffer = draw(st.booleans())
    for at in range(draw(st.integers(1, 2))):
        extra = f', nullable: "{draw(st.sampled_from(PRESENCES))}"' if draw(st.booleans()) else ""
        extra += ", buffer: out" if buffer and at == 0 else ""
        dtype = draw(st.sampled_from(DTYPES))
        lines.append(f'  o{at}: {{dtype: "{dtype}", shape: "{draw(shapes(2))}"{extra}}}')
    lines += ["types:", FAMILIES.rstrip()]
    lines += [
        "let:",
        *(f'  {name}: "{draw(st.sampled_from(options))}"' for name, options in LETS.items()),
    ]
    rules = draw(st.lists(st.sampled_from(RULES), max_size=3, unique=True))
    lines.append(f"shape_rules: [{', '.join(chr(34) + rule + chr(34) for rule in rules)}]")
    # A family that no shape applies is an error.
    text = "\n".join(lines)
    return _without_unused(text)


def _without_unused(text: str) -> str:
    head, _, rest = text.partition("types:\n")
    body, _, tail = rest.partition("let:")
    blocks = {block.split(":")[0].strip(): block for block in _blocks(body)}
    used = {name for name in blocks if f"{name}[" in head}
    if "Both" in used:
        used.add("Pick")
    kept = "".join(blocks[name] for name in blocks if name in used)
    return head + (f"types:\n{kept}" if kept else "") + "let:" + tail


def _blocks(body: str) -> list[str]:
    lines = body.rstrip("\n").split("\n")
    starts = [at for at, line in enumerate(lines) if not line.startswith("    ")]
    ends = [*starts[1:], len(lines)]
    return ["\n".join(lines[a:b]) + "\n" for a, b in zip(starts, ends, strict=True)]


SIZES = st.sampled_from((0, 1, 1, 2, 2, 3, 4, 6))
LAYOUTS = (
    {"masked": {"max_m": 2}},
    {"contiguous": {"packing": "tight", "metadata_kind": "per_row", "alignment": 1}},
    {"contiguous": {"packing": "aligned", "metadata_kind": "physical_psum", "alignment": 4}},
)


@st.composite
def calls(draw: st.DrawFn, subject: Subject) -> dict[str, Any]:
    """A call that follows the shapes of the signature, then perhaps a change."""
    sizes = {name: draw(SIZES) for name in ("A", "B", "C")}
    sequences = st.lists(SIZES, max_size=3).map(tuple)
    params: dict[str, Any] = {
        "k": draw(st.sampled_from((1, 1, 2, 3, 0, -1))),
        "b": draw(st.booleans()),
        "e": draw(st.sampled_from(("a", "b", "c"))),
        "l": draw(st.lists(st.sampled_from((1, 2, 2, 3, 0, -1)), max_size=2)),
        "q": draw(st.sampled_from((None, 2, 5, -1))),
        "d": draw(st.sampled_from(("float16", "float32"))),
        "f": draw(st.sampled_from((0.5, 0.0, 1e30, float("inf")))),
        "z": draw(st.sampled_from((2, (1, 2), (2, 3), 0))),
        "n": draw(st.sampled_from((1, 0.5))),
        "layout": draw(st.sampled_from(LAYOUTS)),
    }
    complete = subject.complete(params)
    env: dict[str, Any] = {**complete, **sizes, "S": draw(sequences), "R": draw(sequences),
                           "T": draw(st.sampled_from(("float16", "float32"))),
                           "U": draw(st.sampled_from(("int32", "float32")))}  # fmt: skip
    call = dict(params)
    signature = subject.signature
    for _ in signature.lets:
        for let in signature.lets:
            env[let.name] = _or_zero(let.expr, env, 0 if let.name in "LN" else ())
    for tensor in (*signature.construction, *signature.inputs):
        present = tensor.presence is None or (
            draw(st.booleans()) if tensor.own_presence else evaluate(tensor.presence, env) is True
        )
        env[tensor.name] = call[tensor.name] = _tensor(tensor, env, subject) if present else None
    if signature.buffer is not None and draw(st.integers(0, 2)) == 0:
        call["out"] = _tensor(signature.buffer, env, subject)
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))):
        _mutate(draw, call, subject)
    return call


def _or_zero(expr: Any, env: dict[str, Any], fallback: Any) -> Any:
    try:
        return evaluate(expr, env)
    except (DomainError, TypeError, AttributeError, KeyError):
        return fallback


def _tensor(tensor: Tensor, env: dict[str, Any], subject: Subject) -> TensorMeta:
    shape: tuple[int, ...] = ()
    for item in alternatives(tensor.shape, subject.signature):
        try:
            if item.guard is None or evaluate(item.guard, env) is True:
                shape = evaluate_shape(item.axes, env)
                break
        except (DomainError, TypeError, AttributeError):
            continue
    dtype = _or_zero(tensor.dtype, env, "float32")
    return TensorMeta(tuple(min(max(int(size), 0), 50) for size in shape), dtype)


def _mutate(draw: st.DrawFn, call: dict[str, Any], subject: Subject) -> None:
    names = [name for name, value in call.items() if isinstance(value, TensorMeta)]
    optional = [item.name for item in subject.signature.inputs if item.presence is not None]
    kind = draw(st.sampled_from(("size", "size", "rank", "dtype", "presence", "strides")))
    if kind == "presence" and optional:
        name = draw(st.sampled_from(optional))
        call[name] = TensorMeta((2,), "float32") if call.get(name) is None else None
    if not names:
        return
    name = draw(st.sampled_from(names))
    meta = call[name]
    if not isinstance(meta, TensorMeta):
        return
    shape = list(meta.shape)
    if kind == "size" and shape:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(SIZES)
    elif kind == "rank":
        shape = shape[1:] if draw(st.booleans()) else [*shape, 2]
    dtype = (
        draw(st.sampled_from(("float16", "int32", "float64"))) if kind == "dtype" else meta.dtype
    )
    call[name] = TensorMeta(tuple(shape), dtype)
