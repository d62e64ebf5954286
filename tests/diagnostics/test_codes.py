"""The table of codes."""

import re

from tileops.diagnostics import codes
from tileops.diagnostics.model import Code


def test_the_table_holds_every_code_once_in_order() -> None:
    declared = [value for value in vars(codes).values() if isinstance(value, Code)]
    assert sorted(declared, key=lambda code: code.id) == list(codes.CODES)
    ids = [code.id for code in codes.CODES]
    assert ids == sorted(set(ids))
    assert len({code.name for code in codes.CODES}) == len(ids)


def test_codes_are_well_formed() -> None:
    for code in codes.CODES:
        assert re.fullmatch(r"TO[1-9]\d\d", code.id)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code.name)
        assert code.summary.endswith(".") and code.summary[0].isupper()
