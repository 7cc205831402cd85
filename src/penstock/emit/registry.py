"""Who writes which op in C.

An emitter writes one node, whose shapes are all known, as C statements. It stands beside its op, in the op's own file
or in one of a name that ends in `_c.py`::

    @emits("L2Loss")
    def l2_loss_in_c(s: Site) -> str | None:
        ...

It gives None for attributes, types or shapes that it does not know. Element-wise ops need none: their expressions
(`expressions.py`) become loops, and so do ops that only give a value another shape or name.

A file of C begins with `codegen.c.source.shared_text()`, a FAIL macro, and `support_text()`: the functions that emitted
statements call. Emitters are loaded when they are asked for, as ops are, by the tables in `graph/op_modules.py`.
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
    """What writes an op, and what a region must know of it.

    large: its inputs may be larger than those of other nodes of regions, since it uses threads in C as well.
    adds: it adds to its first input, in the memory of that where a loop adds up; its result may be larger, too.
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
    """The emitter of an op that is registered."""
    if op not in _emitters:
        _import(MODULE_OF_EMITTER.get(op))
    return _emitters.get(op)


def emitted_ops() -> list[str]:
    """The names of the ops that have an emitter; all modules that have one are imported for it."""
    registered_ops()
    for module in MODULE_OF_EMITTER.values():
        _import(module)
    return list(_emitters)


def supports(name: str, text: str, *types: str) -> None:
    """Put C functions into `support_text`: `text`, or one copy with @ as each of the types. `name` is that of them all,
    and stands for one module."""
    _support[name] = _support.get(name, "") + ("".join(text.replace("@", t) for t in types) if types else text)


def support_text() -> str:
    """The functions that emitted statements call, to stand once in a file.

    Those of Penstock are all there, in one order, whatever has been loaded: compiled files are known by their text.
    Functions of ops call those of `emit/`, which stand before them.
    """
    for module in MODULE_OF_SUPPORT.values():
        _import(module)
    return "".join(_support[name] for name in dict.fromkeys([*MODULE_OF_SUPPORT, *_support]))


def _import(module: str | None) -> None:
    if module is not None:
        importlib.import_module(module)
