"""Functions, classes and methods take their arguments in the order, and with the defaults, of TensorFlow 1.15's.

`tests/data/signatures.json.gz` is what tools/make_signatures.py reads from TensorFlow itself.
"""

from __future__ import annotations

import ast
import gzip
import inspect
import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import penstock as ps

RECORDED: dict[str, list[str]] = json.loads(
    gzip.decompress((Path(__file__).parent.parent / "data" / "signatures.json.gz").read_bytes())
)
OTHERWISE = {
    "Operation.__init__": "made by its graph, of parts that are checked",
    "RaggedTensor.__init__": "made by its factories",
    "ReaderBase.__init__": "all readers can tell their state",
    "*.LinearOperator*Identity.add_to_tensor": "one name for all operators",
    "contrib.distribute.MirroredStrategy.__init__": "auto_shard_dataset has no effect",
    "contrib.distributions.*WithSoftplus*.__init__": "their options by keyword",
    "contrib.distributions.Mixture.__init__": "use_static_graph has no effect",
    "contrib.distributions.Poisson.__init__": "its arguments of 1.4",
    "contrib.distributions.StudentTWithAbsDfSoftplusScale.__init__": "its options by keyword",
    "contrib.factorization.WALSModel.*": "an input is always given",
    "contrib.framework.*": "checkpoint_dir is an old name of theirs",
    "contrib.graph_editor.*TransformerInfo.__init__": "made by a Transformer",
    "contrib.learn.*": "options by keyword, those without effect not at all",
    "contrib.lookup.*": "shared_name in the place that it had until 1.12",
    "contrib.rnn.Conv*LSTMCell.call": "the scope is the layer's",
    "contrib.rnn.*.build": "weights are made with the first inputs",
    "contrib.rnn.GRUBlockCell*.call": "the state is called state",
    "contrib.seq2seq.TrainingHelper.*": "outputs, state and sample ids always given",
    "contrib.tensor_forest.*": "its arguments of 1.4",
    "contrib.tfprof.model_analyzer.advise": "tf.profiler's",
    "contrib.training.RandomStrategy.__init__": "its arguments in another order",
    "distribute.*AllReduce.__init__": "the arguments of contrib's class",
    "*distribute.*Strategy.__init__": "strategies are made by their own classes",
    "test.TestCase.assert*": "unittest's own methods",
    "*tpu.TPUEstimator.__init__": "settings of TPUs that have no effect",
    "estimator.*": "not compared yet",
    "keras.*": "not compared yet",
    "layers.*": "not compared yet",
    "nest.*": "sparse tensors are leaves",
    "nn.rnn_cell.*.build": "weights are made with the first inputs",
}
"""Names that take arguments otherwise, and why."""


def found(name: str) -> Callable[..., Any] | None:
    value: Any = ps
    try:
        for part in name.split("."):
            value = getattr(value, part)
    except Exception:
        return None
    return value if callable(value) else None


def difference(recorded: list[str], ours: Callable[..., Any]) -> str:
    """What of the recorded arguments is not taken, or is taken otherwise; "" where all is as recorded."""
    try:
        parameters = list(inspect.signature(ours).parameters.values())
    except (ValueError, TypeError):
        return ""
    kinds = {parameter.kind for parameter in parameters}
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds:
        return ""  # it hands all on
    if parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    by_name = {parameter.name: (place, parameter) for place, parameter in enumerate(parameters)}
    for place, text in enumerate(recorded):
        name, _, default = text.partition("=")
        if name == "*args":
            break
        if name not in by_name:
            if inspect.Parameter.VAR_KEYWORD in kinds:
                continue
            return f"no {name}"
        where, parameter = by_name[name]
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY or where != place:
            return f"{name} is not argument {place + 1}"
        if default and not _same(default, parameter.default):
            return f"{name} is {parameter.default!r}, not {default}"
    return ""


def _same(recorded: str, default: object) -> bool:
    if default is inspect.Parameter.empty:
        return False
    if recorded in ("…", "None") or not isinstance(default, int | float | str):
        return True  # None stands for a default that is made later
    if recorded.strip("-") == "inf":
        return default == float(recorded)
    return bool(ast.literal_eval(recorded) == default)


def test_arguments_are_those_of_tensorflow() -> None:
    differing, seen, excepted = [], 0, set()
    for name, recorded in RECORDED.items():
        if (ours := found(name)) is None:
            continue
        seen += 1
        if what := difference(recorded, ours):
            patterns = [pattern for pattern in OTHERWISE if fnmatchcase(name, pattern)]
            excepted.update(patterns)
            differing += [] if patterns else [f"{name}: {what}"]
    assert differing == []
    assert seen > 9000
    assert excepted == set(OTHERWISE), "an exception that is none any more"
