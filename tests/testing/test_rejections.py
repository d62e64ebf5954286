"""Calls that break a rule are found for every rule, and each is refused by the rule it is for."""

import pytest

from tileops.manifest.signature.interpret import CallRejected, interpret
from tileops.manifest.signature.steps import AxisStep, RuleStep
from tileops.manifest.workload.instantiate import instantiate
from tileops.testing.cases import rows
from tileops.testing.rejections import breakable, rejections


@pytest.fixture(scope="module")
def small():
    return [row.shrunk(256) for row in rows("RMSNormFwdOp")]


def test_a_refused_call_names_its_step(small):
    row = small[0]
    facts = instantiate(row.case).arguments | {"normalized_shape": []}
    with pytest.raises(CallRejected) as raised:
        interpret(row.case.signature, row.case.workload.plan, facts)
    assert isinstance(raised.value.step, RuleStep)


def test_every_breakable_step_is_broken_once(small):
    found = rejections(small)
    steps = [id(item.step) for item in found]
    assert len(set(steps)) == len(steps)
    assert {id(step) for step in breakable(small[0])} <= set(steps)
    sentences = [item.sentence for item in found]
    assert len(set(sentences)) == len(sentences)
    assert all(text.startswith("norm_rms_norm_fwd: ") for text in sentences)


def test_a_row_that_fits_breaks_nothing(small):
    for row in small:
        interpret(row.case.signature, row.case.workload.plan, instantiate(row.case).arguments)


def test_no_rows_give_no_rejections():
    assert rejections([]) == []


def test_sizes_that_are_compared_are_among_the_steps():
    found = rows("GEMMFwdOp")
    assert any(isinstance(step, AxisStep) and step.tensor == "b" for step in breakable(found[0]))
