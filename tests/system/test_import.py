"""`import penstock` loads next to nothing; names and ops are loaded when they are asked for, in any order."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import penstock as tf
from penstock.api.exports import EXPORTS
from penstock.emit.expressions import expressed_ops
from penstock.emit.registry import emitted_ops
from penstock.graph.op_modules import MODULE_OF_EMITTER, MODULE_OF_OP
from penstock.graph.opdef import registered_ops

ROOT = Path(tf.__path__[0])

MLP = """
import penstock as tf
x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int64, [None])
w = tf.Variable(tf.truncated_normal([4, 8])), tf.Variable(tf.truncated_normal([8, 3]))
logits = tf.matmul(tf.nn.relu(tf.matmul(x, w[0])), w[1])
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run([loss, train], {x: [[1, 2, 3, 4]], y: [0]})
"""


def python(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, which knows nothing of what this one has imported."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PENSTOCK_COMPILE": "off"}
    return subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, check=True, env=environment
    )


def failing(*programs: str) -> str:
    """Those of some programs that fail, each in a process of its own in which only torch is imported yet."""
    return python(f"""
import os, torch
for program in {programs}:
    child = os.fork()
    if not child:
        exec(program)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(program)
""").stdout


def imported(program: str) -> list[str]:
    return re.findall(r"(?m)^import time:.*\| +(\S+)$", python(program, "-X", "importtime").stderr)


# --- what is loaded -------------------------------------------------------------------------------------


def test_importing_penstock_loads_little_more_than_torch() -> None:
    more = set(imported("import penstock")) - set(imported("import torch"))
    assert {name for name in more if not name.startswith("penstock")} <= {"difflib", "fnmatch", "importlib.resources"}
    assert len(more) <= 15


def test_a_small_network_loads_what_it_needs_and_no_other_namespace() -> None:
    found = {name for name in imported(MLP) if name.startswith("penstock.")}
    assert len(found) < len(MODULES) / 2
    for unused in ("contrib", "distributions", "image", "layers", "losses", "metrics", "rnn", "summary", "test"):
        assert f"penstock.{unused}" not in found


# --- the tables -----------------------------------------------------------------------------------------


def test_the_tables_and_stubs_are_those_of_the_sources() -> None:
    assert python("from penstock.api.generate import main; main(['--check'])").stdout == "", (
        "run `python -m penstock.api.generate`"
    )


@pytest.mark.parametrize("namespace", EXPORTS)
def test_every_public_name_is_there_and_listed(namespace: str) -> None:
    module = importlib.import_module(namespace)
    for source, names in EXPORTS[namespace].items():
        for entry in names.split():
            name, _, attribute = entry.partition("=")
            found = getattr(module, name)
            assert name in dir(module)
            if not isinstance(found, ModuleType):
                assert found is getattr(importlib.import_module(source), attribute or name)


def test_all_ops_are_registered_when_they_are_listed_and_each_when_it_is_asked_for() -> None:
    assert set(registered_ops()) >= set(MODULE_OF_OP)
    counts = python(
        "from penstock.graph import opdef\n"
        "print(len(opdef._ops))\n"
        "print(opdef.get_op('Relu').name, opdef.get_gradient('SegmentSum').__name__)\n"
        "print(len(opdef.registered_ops()) == len(opdef.MODULE_OF_OP))"
    ).stdout.split()
    assert counts == ["0", "Relu", "segment_sum_gradient", "True"]


def test_an_op_or_gradient_of_ones_own_cannot_take_the_name_of_one_that_is_not_loaded_yet() -> None:
    program = """
import penstock as tf
for register in (lambda: tf.define_op("Relu"), lambda: tf.RegisterGradient("SegmentSum")(None)):
    try:
        register()
    except (ValueError, KeyError) as error:
        print(error)
"""
    assert python(program).stdout.count("already registered") == 2


def test_what_an_op_is_in_c_is_found_in_a_process_that_has_loaded_the_op_alone() -> None:
    """Emitters also where not even the op is: their table says where they are."""
    emitted, expressed = emitted_ops(), dict[str, list[str]]()
    for name in expressed_ops():
        expressed.setdefault(MODULE_OF_OP[name], []).append(name)
    assert len(emitted) > 100 and len(MODULE_OF_EMITTER) > 50
    assert not failing(
        "from penstock.emit.registry import MODULE_OF_EMITTER, emitter_of; from penstock.graph.opdef import get_op\n"
        f"assert all(emitter_of(name) for name in {emitted} if name in MODULE_OF_EMITTER or get_op(name))",
        *(
            "from penstock.emit.expressions import has_expression; from penstock.graph.opdef import get_op\n"
            f"get_op('{names[0]}')\n"
            f"assert all(map(has_expression, {names}))"
            for names in expressed.values()
        ),
    )


def test_the_functions_that_emitted_c_calls_are_the_same_whatever_is_loaded_first() -> None:
    program = "from penstock.emit.registry import support_text; print(support_text())"
    first, second = (f"import penstock.ops.{name}\n{program}" for name in ("sorting_c", "nn.softmax_c"))
    assert python(first).stdout == python(second).stdout


def test_a_second_emitter_for_an_op_is_refused_also_where_the_first_is_not_loaded_yet() -> None:
    program = """
from penstock.emit.registry import emits
try:
    emits("Softmax")(lambda site: None)
except ValueError as error:
    print(error)
"""
    assert python(program).stdout == "Softmax has an emitter already\n"


# --- the ways to come by a name -------------------------------------------------------------------------


def test_a_name_is_found_by_every_kind_of_import() -> None:
    assert not failing(
        "from penstock import nn; nn.relu",
        "import penstock.nn; penstock.nn.relu",
        "from penstock.nn import relu, rnn_cell; rnn_cell.LSTMCell",
        "from penstock import *; nn.relu, float32, placeholder",
        "import penstock.compat.v1 as tf; tf.nn.relu",
        "import penstock.contrib.layers.python.layers.utils",
        "import penstock.as_tensorflow, tensorflow as tf; from tensorflow.contrib import slim; tf.nn.relu",
        "import penstock.as_tensorflow; from tensorflow.compat.v1.train import AdamOptimizer",
        "import penstock.as_tensorflow, tensorflow as tf; from tensorflow.nn.rnn_cell import LSTMStateTuple; "
        "import tensorflow.nn.rnn_cell as cells; assert cells is tf.nn.rnn_cell",
        "import penstock as tf; tf.__version__, tf.newaxis, tf.train.SaverDef, tf.versions.VERSION",
        # functions with the name of a package, whichever is loaded first
        "import penstock as tf, penstock.gradients.gradients; assert callable(tf.gradients)",
        "import penstock as tf; tf.gradients; import penstock.gradients.aggregate; assert callable(tf.gradients)",
        "import penstock as tf, penstock.train.saver; assert callable(tf.train.global_step)",
    )


def test_a_public_function_is_the_one_of_its_module() -> None:
    assert tf.nn.relu.__module__ == "penstock.ops.nn.activations"
    assert pickle.loads(pickle.dumps(tf.nn.relu)) is tf.nn.relu
    assert "relu" in dir(tf.nn) and "nn" in dir(tf)


# --- the order ------------------------------------------------------------------------------------------


def test_a_module_can_be_imported_before_all_others() -> None:
    names = random.Random(4).sample(sorted(set(MODULES) - {"penstock.as_tensorflow", "penstock.__main__"}), 8)
    assert not failing(*(f"import {name}" for name in names))


def test_every_module_of_public_names_can_be_the_first_that_a_program_uses() -> None:
    modules = [name for name in EXPORTS["penstock"]["penstock"].split() if f"penstock.{name}" not in EXPORTS]
    assert "flags" in modules
    assert not failing(*(f"import penstock as tf; tf.{name}" for name in modules if "=" not in name))


def test_what_a_program_sets_before_a_module_is_loaded_stays() -> None:
    assert not failing(
        "import logging, penstock as tf; logging.getLogger('penstock').setLevel(logging.ERROR)\n"
        "assert tf.logging.get_verbosity() == logging.ERROR"
    )


def test_modules_do_not_import_each_other_in_circles() -> None:
    left = {module: set(imports_of(module)) for module in MODULES}
    while True:
        free = {module for module, needed in left.items() if not needed & left.keys()}
        if not free:
            break
        left = {module: needed for module, needed in left.items() if module not in free}
    assert not left


def _modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def imports_of(module: str) -> Iterator[str]:
    """The modules that a module imports when it is imported, with the packages that they are in and it is not."""
    for node in executed(ast.parse(MODULES[module].read_text()).body):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            while name:
                if name in MODULES and not f"{module}.".startswith(f"{name}."):
                    yield name
                name = name.rpartition(".")[0]


def executed(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run with a module's body: neither in functions, nor for type checkers."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif not isinstance(node, ast.FunctionDef):
            for part in ("body", "orelse", "handlers", "finalbody"):
                yield from executed(getattr(node, part, []))


def test_what_lists_a_namespace_finds_its_names() -> None:
    """As programs look for the cells of tf.contrib.rnn, in a process that has used none of them."""
    listed = python("""
import inspect, types
from penstock.contrib import rnn
print("GRUCell" in rnn.__dict__, isinstance(vars(rnn)["GRUCell"], type), vars(rnn)["GRUCell"] is rnn.GRUCell)
import penstock as tf
print("AdamOptimizer" in dict(inspect.getmembers(tf.train, inspect.isclass)))
print(isinstance(vars(tf)["nn"], types.ModuleType))
from penstock.python.ops import rnn_cell
from penstock.contrib.seq2seq.python.ops import attention_wrapper
print("GRUCell" in dir(rnn_cell), "LuongAttention" in dir(attention_wrapper))
""").stdout
    assert listed.split() == ["True"] * 7
