"""The runtime tests' own operators, registered once per process."""

import importlib.util
import sys
import types

import pytest

if importlib.util.find_spec("tileops.manifest.signature.checks") is None:
    checks = types.ModuleType("tileops.manifest.signature.checks")
    checks.Check = object
    sys.modules[checks.__name__] = checks

import sample_operators


@pytest.fixture(scope="session", autouse=True)
def registry():
    sample_operators.REGISTRY.register()
    return sample_operators.REGISTRY
