"""What all layers with variables share: their scope, the names and collections of variables, and the final steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from penstock.client.variable import Variable
from penstock.client.variable_scope import VariableScope, variable_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.utils import collect_named_outputs, get_variable_collections
from penstock.graph.operation import Tensor
from penstock.graph.scopes import add_to_collection, get_collection

RENAMED = {"kernel": "weights", "bias": "biases"}
"""The contrib.layers names of tf.layers variables."""


def layer_scope(
    scope: Any, default: str, inputs: Any, reuse: Any, renamed: dict[str, str] | None = None, names: bool = True
) -> AbstractContextManager[VariableScope]:
    """A variable scope whose variables are model variables, some of them renamed; `names`: and a name scope."""
    getter = functools.partial(_get_model_variable, renamed or {})
    return variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=getter, auxiliary_name_scope=names)


def _get_model_variable(renamed: dict[str, str], getter: Callable[..., Any], name: str, **kwargs: Any) -> Any:
    """A custom getter."""
    scope, slash, own = name.rpartition("/")
    settings = {key: kwargs.pop(key, None) for key in ("constraint", "validate_shape", "reuse") if key in kwargs}
    reuse = settings.pop("reuse", None)

    def get(full_name: str, **found: Any) -> Any:
        return getter(full_name, **{**found, "reuse": reuse}, **settings)

    return model_variable(f"{scope}{slash}{renamed.get(own, own)}", custom_getter=get, **kwargs)


def collect_variable(variable: Any, variables_collections: Any, name: str) -> None:
    """Add a variable (all its parts) to the collections requested for `name`."""
    if variable is None:
        return
    for key in get_variable_collections(variables_collections, name) or ():
        for part in [variable] if isinstance(variable, Variable) else list(variable):
            if part not in get_collection(key):
                add_to_collection(key, part)


def finish(
    outputs: Tensor,
    alias: str,
    outputs_collections: Any,
    activation_fn: Any,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
) -> Tensor:
    """Normalises, activates and collects `outputs`."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, alias, outputs)


def output_of(
    layer: Any,
    inputs: Tensor,
    alias: str,
    variables_collections: Any,
    outputs_collections: Any,
    activation_fn: Any,
    normalizer_fn: Any,
    normalizer_params: Any,
) -> Tensor:
    """What a layer with a kernel makes of `inputs`, finished; its variables are collected as weights and biases."""
    outputs = layer(inputs)
    collect_variable(layer.kernel, variables_collections, "weights")
    collect_variable(layer.bias, variables_collections, "biases")
    return finish(outputs, alias, outputs_collections, activation_fn, normalizer_fn, normalizer_params)
