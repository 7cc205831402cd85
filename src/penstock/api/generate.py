"""Writes the tables from which names and ops are loaded on first access: `python -m penstock.api.generate`.

Public names are read from `@export("nn.relu")` in the sources and from `elsewhere.py`; each namespace gets its part of
the table (`exports.py`) and a stub for type checkers and editors. The module to import for an op is found by importing
all of them (`graph/op_modules.py`). `--check` writes nothing and names the files that differ.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import penstock
from penstock.api.elsewhere import ELSEWHERE
from penstock.api.exports import EXPORTS
from penstock.api.namespace import names_in
from penstock.emit import registry
from penstock.graph import opdef, operators
from penstock.graph.op_modules import (
    MODULE_OF_EMITTER,
    MODULE_OF_GRADIENT,
    MODULE_OF_OP,
    MODULE_OF_OPERATOR,
    MODULE_OF_SUPPORT,
)

ROOT = Path(__file__).parent.parent
Table = dict[str, dict[str, str]]
"""{namespace: {module: names, or "name=attribute", in one line}}"""

_BY = "Written by `python -m penstock.api.generate`."


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    different = {path: text for path, text in generated() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in different.items():
        print(path.relative_to(ROOT))
        if not check:
            path.write_text(text, "utf-8")
    return int(check and bool(different))


def generated() -> Iterator[tuple[Path, str]]:
    """Each generated file, with its text."""
    table = exports()
    EXPORTS.clear()
    EXPORTS.update(table)  # for what is imported from now on
    names_in.cache_clear()
    yield ROOT / "api" / "exports.py", _exports_text(table)
    yield ROOT / "graph" / "op_modules.py", _op_modules_text(op_modules())
    for namespace in table:
        yield _stub_of(namespace), _stub_text(namespace)


# --- public names ---------------------------------------------------------------------------------------


def exports() -> Table:
    """The public names of each namespace, by the modules that have them. Raises ValueError if one is exported twice."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for namespace, name, module, attribute in (*_elsewhere(), *_decorated()):
        known = found.setdefault(namespace, {}).setdefault(name, (module, attribute))
        if known != (module, attribute):
            raise ValueError(f"{namespace}.{name} is both {'.'.join(known)} and {module}.{attribute}")
    table: Table = {}
    for namespace in sorted(found):
        sources = table[namespace] = {}
        for name, (module, attribute) in sorted(found[namespace].items(), key=lambda item: (item[1][0], item[0])):
            entry = name if name == attribute else f"{name}={attribute}"
            sources[module] = f"{sources[module]} {entry}" if module in sources else entry
    return table


def _elsewhere() -> Iterator[tuple[str, str, str, str]]:
    for namespace, sources in ELSEWHERE.items():
        for module, names in sources.items():
            for entry in names.split():
                name, _, attribute = entry.partition("=")
                yield namespace, name, module, attribute or name


def _decorated() -> Iterator[tuple[str, str, str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text("utf-8")
        if "import export\n" in text:
            module = _module_of(path)
            for attribute, names in _exported(ast.parse(text)):
                for public in names:
                    namespace, _, name = f"penstock.{public}".rpartition(".")
                    yield namespace, name, module, attribute


def _module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _exported(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Functions and classes decorated with `@export(...)`, and assignments of `export(...)(value)`."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name, decorator_list=calls) | ast.ClassDef(name=name, decorator_list=calls):
                for call in calls:
                    yield from _names(name, call)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=call)):
                yield from _names(name, call)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=call)):
                yield from _names(name, call)


def _names(attribute: str, call: ast.expr) -> Iterator[tuple[str, list[str]]]:
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "export":
        yield attribute, [ast.literal_eval(argument) for argument in call.args]


# --- ops ------------------------------------------------------------------------------------------------


def op_modules() -> dict[str, dict[str, str]]:
    """The ops that each module defines; gradients and emitters that are in a different module than their ops;
    operators' functions; functions in C."""
    if opdef._ops or opdef._gradients or operators._functions or registry._emitters or registry._support:
        raise RuntimeError("what a module registers is found by importing it: run this in a separate process")
    for table in (MODULE_OF_OP, MODULE_OF_GRADIENT, MODULE_OF_OPERATOR, MODULE_OF_EMITTER, MODULE_OF_SUPPORT):
        table.clear()  # it may be wrong by now
    ops, gradients, functions, emitters, support = _Noted(), _Noted(), _Noted(), _Noted(), _Noted()
    opdef._ops, opdef._gradients, operators._functions = ops, gradients, functions
    registry._emitters, registry._support = emitters, support
    for module in pkgutil.walk_packages([str(ROOT)], "penstock."):
        if not module.name.endswith(("__main__", "as_tensorflow")):
            importlib.import_module(module.name)
    apart = {name: module for name, module in gradients.setters.items() if ops.setters.get(name, module) != module}
    beside = {name: module for name, module in emitters.setters.items() if ops.setters.get(name) != module}
    return {
        "OP": _by_module(ops.setters),
        "GRADIENT": _by_module(apart),
        "OPERATOR": _by_module(functions.setters),
        "EMITTER": _by_module(beside),
        "SUPPORT": _by_module(support.setters),
    }


class _Noted(dict[str, Any]):
    """A registry that records which module each entry is from."""

    def __init__(self) -> None:
        super().__init__()
        self.setters: dict[str, str] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        self.setters[name] = _being_imported()
        super().__setitem__(name, value)


def _by_module(modules: dict[str, str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, module in sorted(modules.items(), key=lambda item: (item[1], item[0])):
        found.setdefault(module, []).append(name)
    return {module: " ".join(names) for module, names in found.items()}


def _being_imported() -> str:
    """The module that is being imported."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


# --- texts ----------------------------------------------------------------------------------------------


def _exports_text(table: Table) -> str:
    lines = [f'"""The public names of each namespace, and where they are. {_BY}"""', ""]
    lines.append("EXPORTS: dict[str, dict[str, str]] = {")
    for namespace, sources in table.items():
        lines += [f'    "{namespace}": {{', *_entries(sources.items(), " " * 8), "    },"]
    return "\n".join([*lines, "}", ""])


def _op_modules_text(tables: dict[str, dict[str, str]]) -> str:
    lines = [f'"""Which module is to be imported for what is asked for by name. {_BY}"""']
    for kind, modules in tables.items():
        lines += ["", f"_{kind}S: dict[str, str] = {{", *_entries(modules.items(), " " * 4), "}"]
        lines.append(
            f"MODULE_OF_{kind} = {{name: module for module, names in _{kind}S.items() for name in names.split()}}"
        )
    return "\n".join([*lines, ""])


def _entries(items: Iterable[tuple[str, str]], indent: str) -> Iterator[str]:
    for key, names in items:
        line = f'{indent}"{key}": "{names}",'
        if len(line) <= 120:
            yield line
        else:
            parts = textwrap.wrap(names, 120 - len(indent) - 7, break_on_hyphens=False)
            texts = [f'{indent}    "{part} "' for part in parts[:-1]] + [f'{indent}    "{parts[-1]}"']
            yield from (f'{indent}"{key}": (', *texts, f"{indent}),")


def _stub_of(namespace: str) -> Path:
    place = ROOT.joinpath(*namespace.split(".")[1:])
    return place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")


def _stub_text(namespace: str) -> str:
    names = names_in(namespace)
    lines = [f"from {module} import {attribute} as {name}" for name, (module, attribute) in names.items()]
    public = textwrap.wrap(", ".join(f'"{name}"' for name in names), 116)
    return "\n".join([f"# {_BY}", *lines, "", "__all__ = [", *(f"    {line}" for line in public), "]", ""])


if __name__ == "__main__":
    assert penstock.__path__ == [str(ROOT)]
    raise SystemExit(main(sys.argv[1:]))
