"""Text cases with calls: outputs and sentences, from the interpreter and from generated code."""

from __future__ import annotations

import pytest

from tests.codegen.harness import Outcome, Subject
from tests.manifest.textcases import CASES, Case, TensorMeta, check_text, parameters

NAMES = sorted(path.stem for path in CASES.glob("*.yaml"))


@pytest.mark.parametrize(
    "case", [case for name in NAMES for case in parameters(name) if case.values[0].calls]
)
def test_calls_give_what_is_written_beside_them(case: Case) -> None:
    checked = check_text(case.text)
    assert checked.plan is not None and checked.signature is not None, checked.items
    subject = Subject(checked.signature, checked.plan)
    wrong = []
    for call in case.calls:
        expected = subject.interpreted(call.arguments)
        if call.sentence:
            if call.sentence not in expected.sentence:
                wrong.append(f"{call.text}\n    interpreted: {shown(expected)}")
        elif expected.outputs is None or any(
            expected.outputs[name] != output(value) for name, value in call.outputs.items()
        ):
            wrong.append(f"{call.text}\n    interpreted: {shown(expected)}")
        if (
            " must be passed, got None" in expected.sentence
            and " because " not in expected.sentence
        ):
            # The schema refuses a missing required tensor before generated code runs.
            continue
        for way in (subject.generated, subject.traced):
            found = way(call.arguments)
            if found != expected:
                wrong.append(
                    f"{call.text}\n    {way.__name__}: {shown(found)}\n    interpreted:"
                    f" {shown(expected)}"
                )
    if wrong:
        pytest.fail("\n".join((*wrong, case.text, subject.operator.source)), pytrace=False)


def output(value: object) -> object:
    return (value.shape, value.dtype) if isinstance(value, TensorMeta) else value


def shown(outcome: Outcome) -> str:
    return outcome.sentence or f"{outcome.outputs} {outcome.indices}"
