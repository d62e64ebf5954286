"""The interpreter of plans against generated code, on tensors and on symbolic sizes.

Random signatures and calls: the same calls are refused with the same sentence, and the others give
the same shapes, dtypes and indices. `TILEOPS_PROFILE=long` looks for minutes instead of seconds.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, settings
from hypothesis import strategies as st

from tests.codegen.harness import Subject
from tests.codegen.signatures import calls, signatures
from tests.manifest.textcases import check_signature
from tileops.codegen.schema_types import Unschematic

LONG = os.environ.get("TILEOPS_PROFILE") == "long"
CALLS = 6


@settings(
    max_examples=3000 if LONG else 60,
    deadline=None,
    derandomize=not LONG,
    database=None,
    # A failing example is printed as it is: shrinking one takes minutes.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data(), text=signatures())
@pytest.mark.rule("CAL-1")
@pytest.mark.rule("CAL-6", "PRM-6")
def test_interpreter_and_generated_code_agree(data: st.DataObject, text: str) -> None:
    checked = check_signature(text)
    assume(checked.signature is not None and checked.plan is not None)
    assert checked.signature is not None and checked.plan is not None
    try:
        subject = Subject(checked.signature, checked.plan)
    except Unschematic:
        assume(False)
    for _ in range(CALLS):
        call = data.draw(calls(subject))
        expected = subject.interpreted(call)
        if any(
            call.get(tensor.name) is None
            for tensor in (*subject.signature.construction, *subject.signature.inputs)
            if tensor.presence is None
        ):
            continue
        note(text)
        note(subject.operator.source)
        note(str(checked.plan))
        assert subject.generated(call) == expected
        assert subject.traced(call) == expected
