"""What ruamel.yaml has removed in 0.18."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from penstock.programs.report import REPORT

_KINDS = {"Loader": "unsafe", "UnsafeLoader": "unsafe", "Dumper": "unsafe"} | {
    **dict.fromkeys(("RoundTripLoader", "RoundTripDumper"), "rt"),
    **dict.fromkeys(("SafeLoader", "SafeDumper", "CSafeLoader", "CSafeDumper"), "safe"),
}
"""By name of a loader or dumper: what YAML calls its kind. Objects of Python are read by those only that a program asks
for; `dump` writes them, as it did."""


def _kind(asked: Any, otherwise: str) -> str:
    return _KINDS.get(getattr(asked, "__name__", ""), otherwise)


def _patch_ruamel(module: Any) -> None:
    """`ruamel.yaml.safe_load(stream)` and its like, which are methods of YAML."""
    for name, kind in (("load", "safe"), ("safe_load", "safe"), ("round_trip_load", "rt")):
        setattr(module, name, _read_by(module, name, kind))
    for name, kind in (("dump", "unsafe"), ("safe_dump", "safe"), ("round_trip_dump", "rt")):
        setattr(module, name, _written_by(module, name, kind))


def _read_by(module: Any, name: str, kind: str) -> Callable[..., Any]:
    def load(stream: Any, Loader: Any = None, **options: Any) -> Any:
        REPORT.note(f"ruamel.yaml.{name}")
        return module.YAML(typ=_kind(Loader, kind), pure=True).load(stream)

    return load


def _written_by(module: Any, name: str, kind: str) -> Callable[..., Any]:
    def dump(data: Any, stream: Any = None, Dumper: Any = None, default_flow_style: Any = None, **options: Any) -> Any:
        """Text, unless it is written to a stream."""
        REPORT.note(f"ruamel.yaml.{name}")
        yaml = module.YAML(typ=_kind(Dumper, kind), pure=True)
        yaml.default_flow_style = default_flow_style
        yaml.indent(options.get("indent"))
        written = io.StringIO() if stream is None else stream
        yaml.dump(data, written)
        return written.getvalue() if stream is None else None

    return dump


PATCHES: dict[str, Callable[[Any], None]] = {"ruamel.yaml": _patch_ruamel}
