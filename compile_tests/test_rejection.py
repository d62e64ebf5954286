"""Calls that break a rule: eager, fake and compiled code refuse them with one sentence.

For every rank, dtype, presence, device and contiguity rule, every compared axis and every
refinement of the implemented entries there is a call that breaks it; a rule without one fails.
"""

from __future__ import annotations

import pytest

from compile_tests.registry import IMPLEMENTED, ROWS
from tileops.runtime.errors import CallError
from tileops.testing.compiled import CheckFailed, check_static, fake_result
from tileops.testing.rejections import breakable, rejections

NAMES = [entry.name for entry in IMPLEMENTED]


@pytest.fixture(scope="module")
def refused():
    """The rejections of an entry, worked out once."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = rejections([row.shrunk(512) for row in ROWS[name]])
        return known[name]

    return of


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_can_be_broken(refused, name):
    broken = {id(item.step) for item in refused(name)}
    assert [str(step) for step in breakable(ROWS[name][0]) if id(step) not in broken] == []


@pytest.mark.parametrize("name", NAMES)
def test_eager_and_fake_say_the_same_sentence(refused, name):
    for item in refused(name):
        call = item.call()
        for make in (call, lambda call=call: fake_result(call)):
            with pytest.raises(CallError) as raised:
                make()
            assert str(raised.value) == item.sentence, item


@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_error_holds_the_sentence(refused, name):
    for item in refused(name):
        with pytest.raises(CheckFailed) as raised:
            check_static(item.call())
        error = raised.value.__cause__
        assert item.sentence in str(error), item
        causes = []
        while error is not None:
            causes.append(type(error))
            error = error.__cause__ or error.__context__
        assert CallError in causes, item
