"""The sdist and the wheel carry everything, and the wheel works away from the checkout.

Nothing here reaches an index: the build uses this environment's setuptools, and the wheel is
installed into a folder of its own in front of this environment's packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = sorted(path.name for path in (ROOT / "manifest" / "spec").glob("*.yaml"))

# One worker builds, and serves all tests of this file.


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> str:
    """What `command` prints, in an environment that has no index and no checkout."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    env |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    if path is not None:
        env["PYTHONPATH"] = str(path)
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist."""
    source = tmp_path_factory.mktemp("source") / "tileops"
    # A copy, so that build folders neither litter the checkout nor come from it.
    ignore = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "results")
    shutil.copytree(ROOT, source, ignore=ignore)
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=out)
    return out


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the wheel is installed into."""
    target = tmp_path_factory.mktemp("site")
    (wheel,) = dist.glob("*.whl")
    options = ("--no-deps", "--quiet", "--target", target)
    run(sys.executable, "-m", "pip", "install", *options, wheel, cwd=dist)
    return target


def test_the_sdist_carries_sources_and_manifest(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {f"manifest/spec/{name}" for name in SPEC} <= names
    wanted = {"pyproject.toml", "setup.py", "tileops_cli.py", "LICENSE", "README.md"}
    assert wanted | {"tileops/py.typed", "constraints.txt", "conftest.py"} <= names


def test_the_wheel_carries_package_and_manifest_and_nothing_else(dist: Path) -> None:
    (archive,) = dist.glob("*.whl")
    with zipfile.ZipFile(archive) as wheel:
        names = set(wheel.namelist())
    carried = sorted(name for name in names if name.endswith(".yaml"))
    assert SPEC and carried == [f"tileops/manifest/spec/{name}" for name in SPEC]
    modules = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tileops").rglob("*")
        if path.suffix in (".py", ".pyi", ".typed", ".txt", ".md") and "__pycache__" not in path.parts
    }
    code = {name for name in names if ".dist-info/" not in name} - set(carried)
    assert code == modules | {"tileops_cli.py"}


def test_the_installed_package_reads_its_own_manifest(installed: Path, tmp_path: Path) -> None:
    script = (
        "import os\n"
        "os.environ['TILEOPS_STATIC'] = '1'\n"
        "import tileops\n"
        "from tileops.manifest.fingerprint import spec_folder\n"
        "print(tileops.__file__, spec_folder(), *sorted(os.listdir(spec_folder())), sep='\\n')\n"
    )
    out = run(sys.executable, "-c", script, cwd=tmp_path, path=installed).splitlines()
    assert Path(out[0]) == installed / "tileops" / "__init__.py"
    assert Path(out[1]) == installed / "tileops" / "manifest" / "spec"
    assert out[2:] == SPEC


def test_the_console_script_works(installed: Path, tmp_path: Path) -> None:
    out = run(installed / "bin" / "tileops", "list", cwd=tmp_path, path=installed)
    assert "RMSNormFwdOp" in out
    out = run(installed / "bin" / "tileops", "explain", "TO301", cwd=tmp_path, path=installed)
    assert out.startswith("TO301 unsolved-index")


def test_an_operator_of_the_installed_package_runs(installed: Path, tmp_path: Path) -> None:
    script = (
        "import torch, tileops\n"
        "x = torch.randn(2, 8)\n"
        "y = torch.ops.tileops.norm_rms_norm_fwd(x, None, normalized_shape=[8])\n"
        "torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (8,)))\n"
        "print(tileops.__file__)\n"
    )
    out = run(sys.executable, "-c", script, cwd=tmp_path, path=installed)
    assert Path(out.strip()).is_relative_to(installed)
