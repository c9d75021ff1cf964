"""How a wheel is built, beside pyproject.toml: in a folder of its own, new every time.

Setuptools builds in ``build/`` otherwise, and packs whatever earlier builds have left there.
"""

from tempfile import TemporaryDirectory

from setuptools import setup
from setuptools.command.build import build


class FreshBuild(build):
    """Build where nothing lies, and leave nothing behind."""

    def initialize_options(self) -> None:
        """Take a folder that goes away with the process."""
        super().initialize_options()
        self._folder = TemporaryDirectory(prefix="sssp-build-")
        self.build_base = self._folder.name


setup(cmdclass={"build": FreshBuild})
