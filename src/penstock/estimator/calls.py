"""Calls of users' functions: each gets the arguments that it names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock import logging
from penstock.data.core import DatasetBase
from penstock.data.dataset import Dataset
from penstock.train.session_run_hook import SessionRunHook

_MODEL_FN_ARGUMENTS = {"features", "labels", "mode", "params", "self", "config"}


def argument_names(function: Callable[..., Any]) -> set[str]:
    """The names of arguments that can be passed; those that a functools.partial has set do not count."""
    unwrapped: Any = function
    given: set[str] = set()
    positional = 0
    while isinstance(unwrapped, functools.partial):
        given |= set(unwrapped.keywords)
        positional += len(unwrapped.args)
        unwrapped = unwrapped.func
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(unwrapped).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind not in kinds]
    return set(names[positional:]) - given


def check_model_fn(model_fn: Callable[..., Any], params: Any) -> None:
    """Raises ValueError for arguments that a model function does not have or must have."""
    names = argument_names(model_fn)
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    if params is None and "params" in names:
        logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.", model_fn
        )
    if unexpected := sorted(names - _MODEL_FN_ARGUMENTS):
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unexpected}")


def call_with_known(function: Callable[..., Any], **known: Any) -> Any:
    """Calls `function` with those of `known` that it names."""
    names = argument_names(function)
    return function(**{name: value for name, value in known.items() if name in names})


class _DatasetInitializerHook(SessionRunHook):
    """Starts the iterator of an input function's dataset in each new session."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def features_and_labels(result: Any) -> tuple[Any, Any, list[SessionRunHook]]:
    """What an input function returned: features, labels or None, and hooks that its dataset needs.

    Also of an iterator, which a hook initialises.
    """
    hooks: list[SessionRunHook] = []
    if isinstance(result, DatasetBase):
        dataset: Any = result
        result = Dataset.make_initializable_iterator(dataset)
    if hasattr(result, "get_next"):
        hooks.append(_DatasetInitializerHook(result))
        result = result.get_next()
    if isinstance(result, list | tuple):
        if len(result) != 2:
            raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
        return result[0], result[1], hooks
    return result, None, hooks
