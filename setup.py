"""Puts the manifest's YAML into the package when it is built; everything else is in pyproject.toml.

The data lives in `manifest/spec` at the root, beside the code that reads it and not inside. A
checkout and an editable install read it there; a wheel carries it as `tileops/manifest/spec`.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path("manifest", "spec")


class BuildWithManifest(build_py):
    """Copies the YAML next to the built `tileops.manifest`."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        folder = self._folder()
        # A build folder outlives renames in the source, and a stale entry would be registered.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path in sorted(SOURCE.glob("*.yaml")):
            shutil.copyfile(path, folder / path.name)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        outputs = list(super().get_outputs(include_bytecode))
        if self.editable_mode:
            return outputs
        return outputs + [str(self._folder() / path.name) for path in sorted(SOURCE.glob("*.yaml"))]

    def _folder(self) -> Path:
        return Path(self.build_lib, "tileops", "manifest", "spec")


setup(cmdclass={"build_py": BuildWithManifest})
