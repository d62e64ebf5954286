"""Testing operators: the workload as calls, and the checks that a compiled model relies on.

`cases(OP)` gives the calls of an operator, `check(OP)` holds one to torch.compile. Both serve the
operators of this package and those of anybody else's manifest.
"""

from tileops.testing.call import Call
from tileops.testing.cases import Case, cases
from tileops.testing.compiled import CheckFailed
from tileops.testing.report import Report, check

__all__ = ["Call", "Case", "CheckFailed", "Report", "cases", "check"]
