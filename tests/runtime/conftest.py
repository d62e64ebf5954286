"""What the runtime tests need before they import anything of tileops."""

import importlib.util
import sys
import types

if importlib.util.find_spec("tileops.manifest.signature.checks") is None:
    checks = types.ModuleType("tileops.manifest.signature.checks")
    checks.Check = object
    sys.modules[checks.__name__] = checks
