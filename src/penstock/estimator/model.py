"""A model function with what it is called with, in graphs of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from penstock import logging
from penstock.checkpoint.state import latest_checkpoint
from penstock.distribute.strategy import Strategy
from penstock.estimator.calls import argument_names, call_with_known, features_and_labels
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.tasks import device_function
from penstock.estimator.warm_start import WarmStartSettings, warm_start
from penstock.graph.graph import Graph
from penstock.graph.scopes import device, set_random_seed
from penstock.train.global_step import create_global_step
from penstock.train.session_run_hook import SessionRunHook

InputFn = Callable[..., Any]


@dataclass(frozen=True)
class Model:
    """What an Estimator consists of. Functions of users get copies of `config` and `params`."""

    function: Callable[..., EstimatorSpec]
    config: RunConfig
    params: Any
    warm_start_settings: WarmStartSettings | None

    @property
    def directory(self) -> str:
        assert self.config.model_dir is not None, "an Estimator has one"
        return self.config.model_dir

    @contextmanager
    def graph(self, strategy: Strategy | None = None) -> Iterator[Graph]:
        """A new graph, with a global step, as the default; in the scope of `strategy`."""
        scope = nullcontext() if strategy is None else strategy.scope()
        with Graph().as_default() as graph, device(device_function(self.config)), scope:
            set_random_seed(self.config.tf_random_seed)
            create_global_step(graph)
            yield graph

    def inputs(
        self, input_fn: InputFn, mode: str, strategy: Strategy | None = None
    ) -> tuple[Any, Any, list[SessionRunHook]]:
        """Features, labels or None, and hooks that the input needs; with `strategy`, for each of its replicas."""
        known = {"mode": mode, "params": deepcopy(self.params), "config": deepcopy(self.config)}
        if strategy is not None:

            def dataset(context: Any) -> Any:
                return call_with_known(input_fn, **known, input_context=context)

            return features_and_labels(strategy.make_input_fn_iterator(dataset))
        with device("/cpu:0"):
            return features_and_labels(call_with_known(input_fn, **known))

    def spec(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        """Calls the function. Raises ValueError if it takes no labels, but there are some."""
        if labels is not None and "labels" not in argument_names(self.function):
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        config, params = deepcopy(self.config), deepcopy(self.params)
        logging.info("Calling model_fn.")
        spec = call_with_known(self.function, features=features, labels=labels, mode=mode, params=params, config=config)
        logging.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def session_config(self, strategy: Strategy | None = None) -> Any:
        """The ConfigProto of the model's sessions; with `strategy`, one that has its devices."""
        given = self.config.session_config
        return given if strategy is None else strategy.update_config_proto(given)

    def warm_start(self) -> None:
        """Variables of the default graph begin with those of another checkpoint, if the settings say so."""
        if self.warm_start_settings is not None:
            warm_start(self.warm_start_settings)

    def checkpoint(self, given: str | None, purpose: str) -> str | None:
        """The given checkpoint, or the latest; None if there is none."""
        latest = given or latest_checkpoint(self.directory)
        if latest is None:
            where = self.directory
            logging.info("Could not find trained model in model_dir: %s, running initialization to %s.", where, purpose)
        return latest
