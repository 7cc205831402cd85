"""The registry of emitters, which write ops in C.

An emitter writes one node, whose shapes are all known, as C statements. It is next to its op, in the op's file or in a
file whose name ends in `_c.py`::

    @emits("L2Loss")
    def l2_loss_in_c(s: Site) -> str | None:
        ...

It returns None for attributes, types or shapes that it does not support. Element-wise ops need none: their expressions
(`expressions.py`) become loops. Neither do ops that only change a value's shape or name.

A file of C begins with `codegen.c.source.shared_text()`, a FAIL macro, and `support_text()`: the functions that emitted
statements call. Emitters are loaded on demand, like ops, by the tables in `graph/op_modules.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from penstock.emit.site import Site
from penstock.graph.op_modules import MODULE_OF_EMITTER, MODULE_OF_SUPPORT
from penstock.graph.opdef import registered_ops

Writer = Callable[[Site], "str | None"]


@dataclass(frozen=True, slots=True)
class Emitter:
    """The function that writes an op, and what a region must know about it.

    large: its inputs may be larger than those of other nodes of regions, because it uses threads in C as well. adds: it
    adds to its first input, in that input's memory if a loop accumulates; its result may be larger, too.
    """

    write: Writer
    large: bool = False
    adds: bool = False


_emitters: dict[str, Emitter] = {}
_support: dict[str, str] = {}


def emits(*ops: str, large: bool = False, adds: bool = False) -> Callable[[Writer], Writer]:
    """Decorator: the emitter of these ops; see `Emitter`."""

    def register(write: Writer) -> Writer:
        for op in ops:
            _import(MODULE_OF_EMITTER.get(op))
            if op in _emitters:
                raise ValueError(f"{op} has an emitter already")
            _emitters[op] = Emitter(write, large, adds)
        return write

    return register


def emitter_of(op: str) -> Emitter | None:
    """The emitter of a registered op."""
    if op not in _emitters:
        _import(MODULE_OF_EMITTER.get(op))
    return _emitters.get(op)


def emitted_ops() -> list[str]:
    """The names of the ops that have an emitter; imports all modules that have one."""
    registered_ops()
    for module in MODULE_OF_EMITTER.values():
        _import(module)
    return list(_emitters)


def supports(name: str, text: str, *types: str) -> None:
    """Add C functions to `support_text`: `text`, or one copy for each of the types, which replaces @. `name` identifies
    them and must be used by one module only."""
    _support[name] = _support.get(name, "") + ("".join(text.replace("@", t) for t in types) if types else text)


def support_text() -> str:
    """The functions that emitted statements call, for inclusion once in a file.

    Penstock's are all included, in a fixed order, whatever has been loaded, because compiled files are identified by
    their text. Functions of ops call those of `emit/`, which come before them.
    """
    for module in MODULE_OF_SUPPORT.values():
        _import(module)
    return "".join(_support[name] for name in dict.fromkeys([*MODULE_OF_SUPPORT, *_support]))


def _import(module: str | None) -> None:
    if module is not None:
        importlib.import_module(module)
