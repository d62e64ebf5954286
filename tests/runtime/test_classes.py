"""Classes: generated methods, parameters, pickling, modules; registry and registration."""

import copy
import inspect
import io
import pickle
import pydoc
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from tests.runtime import sample_operators as sample
from tileops.manifest.fingerprint import content_fingerprint, spec_folder
from tileops.runtime import library, stub
from tileops.runtime.errors import CallError
from tileops.runtime.op import Op
from tileops.runtime.parameters import check, fits, split
from tileops.runtime.registry import Registry, default

RMSNormFwdOp = sample.CLASSES["RMSNormFwdOp"]
# Pickle finds a class by its module.
sys.modules[RMSNormFwdOp.__module__].RMSNormFwdOp = RMSNormFwdOp


def test_signatures_show_the_manifest():
    parameters = inspect.signature(RMSNormFwdOp).parameters
    assert list(parameters) == ["normalized_shape", "eps", "target"]
    assert parameters["eps"].default is None
    assert parameters["normalized_shape"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters["target"].kind is inspect.Parameter.KEYWORD_ONLY
    table = inspect.signature(sample.CLASSES["SinusoidalFwdOp"]).parameters
    assert table["seq_len"].kind is inspect.Parameter.KEYWORD_ONLY
    assert table["out_dtype"].default is torch.float32
    forward = inspect.signature(RMSNormFwdOp.forward).parameters
    assert list(forward) == ["self", "x", "weight"] and forward["weight"].default is None
    assert list(inspect.signature(sample.CLASSES["ScaleFwdOp"].forward).parameters) == [
        "self", "x", "y", "out",
    ]  # fmt: skip


def test_help_shows_the_generated_methods():
    text = pydoc.render_doc(RMSNormFwdOp, renderer=pydoc.plaintext)
    assert "__init__(self, normalized_shape" in text and "forward(self, x" in text


def test_equality_repr_and_hash():
    a, b = RMSNormFwdOp([8], eps=1e-6), RMSNormFwdOp((8,), 1e-6)
    assert a == b and hash(a) == hash(b) and a != RMSNormFwdOp((9,), 1e-6)
    assert repr(a) == "RMSNormFwdOp(normalized_shape=(8,), eps=1e-06)"
    assert repr(RMSNormFwdOp((8,), target="eager")).endswith("target='eager')")


def test_copies_and_pickles_compute_the_same():
    x = torch.randn(3, 8)
    op = RMSNormFwdOp((8,))
    y = op(x)
    buffer = io.BytesIO()
    torch.save(op, buffer)
    buffer.seek(0)
    for other in (
        pickle.loads(pickle.dumps(op)),
        copy.deepcopy(op),
        copy.copy(op),
        torch.load(buffer, weights_only=False),
    ):
        assert other == op and torch.equal(other(x), y)
        assert stub.LAST_CALLS in other.__dict__


def test_in_a_module():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = RMSNormFwdOp((8,))
            self.weight = torch.nn.Parameter(torch.ones(8))

        def forward(self, x):
            return self.norm(x, self.weight)

    block = copy.deepcopy(Block())
    x = torch.randn(3, 8)
    torch.testing.assert_close(block(x), F.rms_norm(x, (8,), block.weight))
    assert torch.compile(block, backend="aot_eager", fullgraph=True)(x).shape == x.shape


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: RMSNormFwdOp(8), "normalized_shape must be list"),
        (lambda: RMSNormFwdOp((8.0,)), "normalized_shape must be list"),
        (lambda: RMSNormFwdOp((True,)), "normalized_shape must be list"),
        (lambda: RMSNormFwdOp((8,), eps="x"), r"eps must be float \| None, got 'x' \(str\)"),
        (lambda: RMSNormFwdOp((-1,)), "normalized_shape must be non-negative"),
        (lambda: RMSNormFwdOp((8,), target="nowhere"), "target must be one of triton, eager"),
        (
            lambda: sample.CLASSES["SinusoidalFwdOp"](seq_len=1, d_model=2, out_dtype=torch.int8),
            r"out_dtype must be float16 \| bfloat16 \| float32, got torch.int8",
        ),
    ],
)
def test_wrong_parameters_are_one_sentence(make, text):
    with pytest.raises(CallError, match=text) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_missing_and_unknown_arguments_are_python_errors():
    with pytest.raises(TypeError, match="normalized_shape"):
        RMSNormFwdOp()
    with pytest.raises(TypeError, match="unknown"):
        RMSNormFwdOp((8,), unknown=1)


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("int", [1, -1], [True, 1.0, None, "1"]),
        ("bool", [True], [1, 0]),
        ("float", [1, 1.5, float("inf")], [True, "1"]),
        ("int | list[int] | tuple[int, ...] | None", [1, [1], (1, 2), None, []], [1.5, ["a"]]),
        ("'none' | 'tanh'", ["none", "tanh"], ["None", None]),
        ("tuple[int | None, int | None]", [(1, None), [1, 2]], [(1,), (1, 2, 3)]),
        ("torch.dtype", [torch.int8], ["int8"]),
        ("torch.device | str | None", [torch.device("cpu"), "cpu", None], [0]),
        ("Number", [1, 1.5, True, 2j], ["1", None]),
    ],
)
def test_type_texts(text, good, bad):
    assert all(fits(text)(value) for value in good)
    assert not any(fits(text)(value) for value in bad)
    with pytest.raises(CallError):
        check("Op", "p", text, bad[0])


def test_split_leaves_brackets_and_quotes_alone():
    assert split("'a|b' | list[int | None]", "|") == ["'a|b'", "list[int | None]"]


def test_out_is_handed_back():
    op = sample.CLASSES["ScaleFwdOp"]()
    x, y, out = torch.randn(3), torch.randn(3), torch.empty(3)
    assert op(x, y, out) is out and torch.equal(op(x, y), out)
    shift = sample.CLASSES["ShiftFwdOp"]()
    assert shift(x, y) is x
    running = torch.zeros(3)
    assert torch.equal(sample.CLASSES["RunningFwdOp"]()(x[None], running), x[None])


@pytest.mark.rule("CLS-4")
def test_compile_op_names():
    assert RMSNormFwdOp.compile_op_names == (f"{sample.NAMESPACE}::rms_norm_fwd",)
    assert sample.CLASSES["SinusoidalFwdOp"].compile_op_names == ()


def test_a_subclass_and_hand_written_methods():
    class Doubled(RMSNormFwdOp):
        """A forward of its own."""

        def forward(self, x):
            return 2 * super().forward(x)

    class Fixed(RMSNormFwdOp):
        """An `__init__` of its own."""

        def __init__(self):
            super().__init__((8,), eps=1e-3)

    x = torch.randn(3, 8)
    torch.testing.assert_close(Doubled((8,))(x), 2 * F.rms_norm(x, (8,)))
    torch.testing.assert_close(Fixed()(x), F.rms_norm(x, (8,), eps=1e-3))
    assert list(inspect.signature(Fixed).parameters) == []


@pytest.mark.rule("ROO-5")
def test_roofline_needs_a_call():
    op = RMSNormFwdOp((8,))
    with pytest.raises(CallError, match="needs a completed eager call"):
        op.eval_roofline()
    op(torch.randn(3, 8, dtype=torch.float16))
    assert stub.last_call(op).inputs == {"x": ((3, 8), torch.float16), "weight": None}
    torch.compile(op, backend="eager", fullgraph=True)(torch.randn(5, 8))
    assert stub.last_call(op).inputs["x"][0] == (3, 8)


def fresh(namespace, header=sample.RMS_NORM.header, load=lambda _: sample.RMS_NORM):
    return Registry(
        [header], load, namespace, {"RMSNormFwdOp": RMSNormFwdOp},
        compile_operator=sample.compile_operator,
    )  # fmt: skip


def test_registering_again_is_a_no_op_and_another_schema_an_error():
    fresh("tileops_again").register()
    again = fresh("tileops_again")
    again.register()
    assert again.skipped == () and len(again.entries) == 1
    overload = sample.RMS_NORM.header.overloads[0]
    other = replace(
        sample.RMS_NORM.header,
        overloads=(replace(overload, schema="rms_norm_fwd(Tensor x) -> Tensor"),),
    )
    changed = fresh("tileops_again", other)
    changed.register()
    assert "already registered" in changed.skipped[0].reason
    with pytest.raises(CallError, match="its entry was skipped"):
        changed.bound("RMSNormFwdOp")


def test_compile_caches_depend_on_what_is_registered():
    config = torch.compiler.config
    with config.patch(cache_key_tag="mine"):
        fresh("tileops_tagged").register()
        first = config.cache_key_tag
        assert first.startswith("mine;tileops=") and first.count("tileops=") == 1
        overload = replace(sample.RMS_NORM.header.overloads[0], schema="(Tensor x) -> Tensor")
        other = replace(sample.RMS_NORM.header, overloads=(overload,))
        fresh("tileops_tagged_too", other).register()
        assert config.cache_key_tag != first and config.cache_key_tag.count("tileops=") == 1
    found = []
    thread = threading.Thread(target=lambda: found.append(config.cache_key_tag))
    thread.start()
    thread.join()
    assert "tileops=" in found[0]


def test_compile_caches_depend_on_the_yaml():
    def registered(fingerprint):
        return Registry(
            [sample.RMS_NORM.header], lambda _: sample.RMS_NORM, "tileops_yaml", {},
            fingerprint=fingerprint,
        )  # fmt: skip

    config = torch.compiler.config
    with config.patch(cache_key_tag=""):
        registered("one").register()
        first = config.cache_key_tag
        registered("two").register()
        assert config.cache_key_tag != first
        registered("one").register()
        assert config.cache_key_tag == first


def test_the_shipped_registry_is_known_by_its_yaml(tmp_path):
    (tmp_path / "a.yaml").write_text("{}")
    before = content_fingerprint(tmp_path)
    assert content_fingerprint(tmp_path) == before
    (tmp_path / "a.yaml").write_text("{} #")
    assert content_fingerprint(tmp_path) != before
    assert default().fingerprint == content_fingerprint(spec_folder())


def test_a_context_with_a_tag_of_its_own_keeps_the_mark():
    seen = []

    def compile_there():
        torch.compiler.config.cache_key_tag = "mine"
        x = torch.randn(2, 8)
        torch.compile(lambda x: RMSNormFwdOp((8,))(x), backend="aot_eager", fullgraph=True)(x)
        seen.append(torch.compiler.config.cache_key_tag)

    before = torch.compiler.config.cache_key_tag
    thread = threading.Thread(target=compile_there)
    thread.start()
    thread.join()
    torch.compiler.config.cache_key_tag = before
    assert seen[0].startswith("mine;tileops=")


def test_entries_list_what_there_is():
    entry = next(e for e in sample.REGISTRY.entries if e.name == "ScaleFwdOp")
    assert (entry.family, entry.status) == ("sample", "implemented")
    assert entry.operators == (
        f"{sample.NAMESPACE}::scale_fwd", f"{sample.NAMESPACE}::scale_fwd.out",
    )  # fmt: skip
    with pytest.raises(CallError, match="there is no such entry"):
        sample.REGISTRY.bound("NoSuchOp")


def test_first_calls_from_many_threads_build_once():
    built = []

    def load(name):
        built.append(name)
        return sample.RMS_NORM

    fresh("tileops_threads", load=load).register()
    barrier, results = threading.Barrier(16), []
    x = torch.randn(3, 8)

    def call():
        barrier.wait()
        results.append(torch.ops.tileops_threads.rms_norm_fwd(x, normalized_shape=[8]))

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1 and len(results) == 16
    assert all(torch.equal(result, results[0]) for result in results)


def test_contiguous_inputs_are_tagged():
    operator = getattr(torch.ops, sample.NAMESPACE).quant_fwd.default
    assert {str(tag) for tag in operator.tags} & {
        "Tag.needs_contiguous_strides", "needs_contiguous_strides",
        "Tag.needs_exact_strides", "needs_exact_strides",
    }  # fmt: skip


def test_registration_imports_nothing_heavy():
    program = textwrap.dedent(
        """
        import sys, torch
        from tileops.codegen.model import Header, OverloadHeader
        from tileops.runtime.registry import Registry, default
        schema = "(Tensor x, Tensor? w=None, *, SymInt[] n, str? target=None) -> Tensor"
        headers = [
            Header(f"N{i}FwdOp", "norm", "implemented", f"n{i}",
                   (OverloadHeader("default", schema, (), ("y",)),), True, False, (), True)
            for i in range(20)
        ]
        registry = Registry(headers, dict().get, "tileops_light")
        registry.register()
        assert len(registry.entries) == 20 and torch.ops.tileops_light.n3.default
        heavy = ("sympy", "torch._dynamo", "torch._inductor", "triton")
        print([name for name in heavy if name in sys.modules])
        """
    )
    paths = [p for p in sys.path if p]
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{program}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.stdout.strip() == "[]", result.stderr


def test_library_reads_full_and_short_schemas():
    header = sample.ADD.header
    assert library.schema_text(header, header.overloads[0]).startswith("add_fwd(Tensor input")
    qualified = replace(header.overloads[0], schema="ns::add_fwd(Tensor x) -> Tensor")
    assert library.schema_text(header, qualified) == "add_fwd(Tensor x) -> Tensor"


def test_a_class_without_an_entry_says_so():
    class UnknownFwdOp(Op):
        """Not in the manifest."""

        registry = sample.REGISTRY

    with pytest.raises(CallError, match="UnknownFwdOp: there is no such entry"):
        UnknownFwdOp()
