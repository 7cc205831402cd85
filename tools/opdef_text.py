"""Print `define_op` text for ops of the reference file: `python tools/opdef_text.py MatMul Conv2D`."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from penstock.graph.opdef import TYPE_GROUPS
from penstock.tensor.dtypes import dtype_from_opdef_name

REFERENCE = Path(__file__).parent.parent / "tests" / "data" / "tf_opdefs.json.gz"
NAMES = {"DT_FLOAT": "float", "DT_DOUBLE": "double", "DT_HALF": "half"}


def type_name(enum: str) -> str:
    return NAMES.get(enum, enum.removeprefix("DT_").lower())


def arg_text(arg: dict[str, Any]) -> str:
    kind = arg.get("type_attr") or arg.get("type_list_attr") or type_name(arg["type"])
    if "number_attr" in arg:
        kind = f"{arg['number_attr']} * {kind}"
    return f"{arg['name']}: {f'Ref({kind})' if arg.get('is_ref') else kind}"


def value_text(value: dict[str, Any] | Any, kind: str) -> str:
    if kind.startswith("list("):
        return "[" + ", ".join(value_text(v, kind[5:-1]) for v in value["list"]) + "]"
    if isinstance(value, dict):
        value = next(iter(value.values()))
    if kind == "type":
        return type_name(value)
    if kind == "shape":
        return "unknown" if value is None else str(tuple(value))
    if kind == "bool":
        return str(value).lower()
    return repr(value)


def attr_text(attr: dict[str, Any]) -> str:
    kind = attr["type"]
    element = kind[5:-1] if kind.startswith("list(") else kind
    if "allowed" in attr:
        if element == "string":
            element = "{" + ", ".join(repr(v) for v in attr["allowed"]) + "}"
        else:
            allowed = {dtype_from_opdef_name(type_name(v)) for v in attr["allowed"]}
            groups = [g for g, t in TYPE_GROUPS.items() if {dtype_from_opdef_name(n) for n in t.split()} == allowed]
            names = ", ".join(type_name(v) for v in attr["allowed"])
            element = groups[0] if groups else "{" + names + "}"
    text = f"{attr['name']}: " + (f"list({element})" if kind.startswith("list(") else element)
    if "minimum" in attr:
        text += f" >= {attr['minimum']}"
    if "default" in attr:
        text += f" = {value_text(attr['default'], kind)}"
    return text


def opdef_text(name: str, op: dict[str, Any]) -> str:
    lines = [f'"{name}"', json.dumps(", ".join(map(arg_text, op["inputs"])))]
    lines.append(json.dumps(", ".join(map(arg_text, op["outputs"]))))
    if op["attrs"]:
        lines.append("attrs=[" + ", ".join(json.dumps(attr_text(a)) for a in op["attrs"]) + "]")
    for flag in ("is_stateful", "is_commutative", "is_aggregate", "allows_uninitialized_input"):
        if op.get(flag):
            lines.append(f"{flag.removeprefix('is_')}=True")
    comment = f"  # gradient: {op['gradient']}"
    return "define_op(" + ", ".join(lines) + ")" + comment


if __name__ == "__main__":
    with gzip.open(REFERENCE, "rt") as file:
        reference = json.load(file)
    for wanted in sys.argv[1:]:
        print(opdef_text(wanted, reference[wanted]))
