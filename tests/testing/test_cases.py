"""`tileops.testing.cases` and `check`, as somebody with operators of their own uses them."""

import pytest
import torch

import tileops
from tileops.norm import RMSNormFwdOp
from tileops.runtime.errors import CallError
from tileops.runtime.op import Op
from tileops.runtime.registry import Registry
from tileops.testing import CheckFailed, cases, check
from tileops.testing.cases import rows
from tileops.testing.compiled import check_inductor, check_opcheck, check_unbacked

SPELLINGS = [
    RMSNormFwdOp,
    "RMSNormFwdOp",
    "norm_rms_norm_fwd",
    "tileops::norm_rms_norm_fwd",
    torch.ops.tileops.norm_rms_norm_fwd,
    torch.ops.tileops.norm_rms_norm_fwd.default,
]

SCALE = """
ScaleFwdOp:
  family: mine
  status: spec-only
  ref_api: torch.mul
  signature:
    forall:
      S: Shape
      T: DType[float32]
    params:
      factor: {type: float, default: 2.0}
    inputs:
      x: {dtype: T, shape: "[*S]"}
    outputs:
      y: {dtype: T, shape: "[*S]"}
  workloads:
    - {label: large, factor: 3.0, S: [64, 1024], dtype_cases: [{T: float32}]}
  roofline: {flops: "prod(S)"}
"""


@pytest.mark.parametrize("op", SPELLINGS, ids=str)
def test_every_spelling_names_the_operator(op):
    found = list(cases(op, kind="meta"))
    assert [case.id for case in found] == [row.id for row in rows("RMSNormFwdOp")]
    first = found[0]
    assert first.label == "llama3-8b-prefill"
    assert str(first) == "RMSNormFwdOp[llama3-8b-prefill-bfloat16]"
    assert first.overload is torch.ops.tileops.norm_rms_norm_fwd.default
    assert [tuple(t.shape) for t in first.args] == [(2048, 4096), (4096,)]
    assert first.kwargs == {"normalized_shape": [4096], "eps": 1e-5}
    assert first.args[0].is_meta


def test_an_unknown_name_is_a_sentence():
    with pytest.raises(CallError, match="NoSuchOp: there is no such entry"):
        list(cases("NoSuchOp"))


def test_real_cases_are_seeded_shrunk_and_run():
    (one, *_), (two, *_) = (list(cases(RMSNormFwdOp, max_elements=512)) for _ in range(2))
    assert one.args[0].numel() <= 512
    assert torch.equal(one.args[0], two.args[0])
    result = one()
    assert torch.equal(result, RMSNormFwdOp(**one.params)(**one.inputs))


def test_fake_cases_live_on_devices_that_are_not_there():
    case = next(cases(RMSNormFwdOp, device="cuda", kind="fake"))
    result = case()
    assert (result.device.type, tuple(result.shape)) == ("cuda", (2048, 4096))


def test_an_operator_without_tensors_is_placed():
    case = next(cases("SinusoidalFwdOp", device="meta", kind="meta"))
    assert case.args == ()
    assert case().device.type == "meta"


@pytest.mark.parametrize("entry", tileops.registry.entries, ids=lambda entry: entry.name)
def test_every_entry_has_cases_with_generated_contents(entry):
    """One small real case of each entry: the data suits its dtype, contents come from the row."""
    row = rows(entry.name)[0]
    case = row.tensors("cpu", max_elements=2048)
    for name, meta in case.instance.inputs.items():
        tensor = case.call.arguments.get(name)
        assert (tensor is None) == (meta is None)
        if tensor is not None:
            assert (tuple(tensor.shape), str(tensor.dtype)) == (meta.shape, f"torch.{meta.dtype}")
            if tensor.is_floating_point():
                assert tensor.float().isfinite().all()


def test_the_out_variant_passes_the_buffer():
    found = rows("MoEGroupedGEMMFwdOp")
    buffered = next(row for row in found if row.out).tensors("cpu", "meta")
    assert buffered.id.endswith("-out")
    assert buffered.overload is torch.ops.tileops.moe_grouped_gemm_fwd.out
    assert buffered.call.written == ("out",)


def test_a_writing_row_gets_its_overload():
    overloads = {row.overload for row in rows("BatchNormFwdOp")}
    assert overloads == {"default", "writes_running_mean_running_var"}


def test_variances_and_scales_are_not_negative():
    case = next(cases("BatchNormFwdOp", max_elements=512))
    assert (case.inputs["running_var"] >= 0).all()
    assert (case.inputs["input"] < 0).any()


@pytest.mark.parametrize("op", ["ReLUFwdOp", "BatchNormFwdOp"])
def test_checks_of_calls_that_write(op):
    from tests.runtime.test_generated import REGISTRY

    found = rows(op, registry=REGISTRY)
    # The reference of that test takes single precision only where it normalises.
    fits = [row for row in found if op == "ReLUFwdOp" or "float32" in row.id]
    chosen = {row.overload: row for row in fits}
    assert len(chosen) == 2
    for row in chosen.values():
        call = row.tensors("cpu", max_elements=256).call
        check_opcheck(call)
        check_inductor(call)
        check_unbacked(call)
        assert bool(call.written) == (row.overload != "default")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("manifest")
    (path / "mine.yaml").write_text(SCALE, encoding="utf-8")
    return path


def test_a_manifest_of_ones_own(folder):
    (case,) = cases("ScaleFwdOp", manifest=folder, max_elements=64, kind="fake")
    assert case.kwargs == {"factor": 3.0}
    assert case().shape == case.args[0].shape
    assert case.args[0].numel() <= 64


class ScaleFwdOp(Op):
    """x * factor, somebody else's."""

    @staticmethod
    def reference(x, *, factor):
        return x * factor


class WrongDType(ScaleFwdOp):
    """A reference of the wrong dtype."""

    @staticmethod
    def reference(x, *, factor):
        return (x * factor).double()


@pytest.mark.parametrize("implementation", [ScaleFwdOp, WrongDType])
def test_check_of_ones_own_operator(folder, implementation):
    from tileops.codegen.catalog import load_catalog

    catalog = load_catalog(folder)
    namespace = f"tileops_test_{implementation.__name__.lower()}"
    registry = Registry(
        catalog.headers, catalog.operator, namespace, {"ScaleFwdOp": implementation}
    )
    registry.register()
    report = check("ScaleFwdOp", registry=registry, max_elements=64)
    if implementation is ScaleFwdOp:
        assert report, report
        assert str(report).startswith("ScaleFwdOp: 6 of 6 passed")
        return
    assert not report
    assert "the reference must give torch.float32" in str(report)
    with pytest.raises(CheckFailed, match="FAILED fake"):
        check("ScaleFwdOp", registry=registry, max_elements=64, raises=True)
