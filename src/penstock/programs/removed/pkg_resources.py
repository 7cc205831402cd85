"""pkg_resources, which setuptools had until 82: what programs and their libraries ask it for."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import pkgutil
import sys
from pathlib import Path
from typing import IO, Any

from penstock.programs.removed.giving import ModuleOf

DistributionNotFound = importlib.metadata.PackageNotFoundError


def parse_version(version: str) -> Any:
    from packaging.version import Version

    return Version(version)


class _Distribution:
    def __init__(self, name: str) -> None:
        self.project_name, self.version = name, importlib.metadata.version(name)

    @property
    def parsed_version(self) -> Any:
        return parse_version(self.version)


def get_distribution(dist: str) -> _Distribution:
    """Raises DistributionNotFound."""
    return _Distribution(dist)


def iter_entry_points(group: str, name: str | None = None) -> Any:
    found = importlib.metadata.entry_points(group=group)
    return iter(found if name is None else found.select(name=name))


def resource_filename(package_or_requirement: str, resource_name: str) -> str:
    """In the folder of a package, or of the package that a module is in."""
    file = importlib.import_module(package_or_requirement).__file__ or package_or_requirement
    return os.path.join(os.path.dirname(file), resource_name)


def resource_exists(package_or_requirement: str, resource_name: str) -> bool:
    return os.path.exists(resource_filename(package_or_requirement, resource_name))


def resource_isdir(package_or_requirement: str, resource_name: str) -> bool:
    return os.path.isdir(resource_filename(package_or_requirement, resource_name))


def resource_listdir(package_or_requirement: str, resource_name: str) -> list[str]:
    return os.listdir(resource_filename(package_or_requirement, resource_name))


def resource_stream(package_or_requirement: str, resource_name: str) -> IO[bytes]:
    return open(resource_filename(package_or_requirement, resource_name), "rb")


def resource_string(package_or_requirement: str, resource_name: str) -> bytes:
    return Path(resource_filename(package_or_requirement, resource_name)).read_bytes()


def declare_namespace(packageName: str) -> None:
    """The package's modules may be in other folders of sys.path as well."""
    module = sys.modules[packageName]
    module.__path__ = pkgutil.extend_path(module.__path__, packageName)


_NAMES = (
    "DistributionNotFound declare_namespace get_distribution iter_entry_points parse_version resource_exists "
    "resource_filename resource_isdir resource_listdir resource_stream resource_string"
)
MODULES = {"pkg_resources": ModuleOf(None, {name: f"{__name__}:{name}" for name in _NAMES.split()})}
