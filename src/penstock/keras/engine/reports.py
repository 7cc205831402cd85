"""`Reports`: what steps of a model report: its losses and metrics, those of its layers, and a program's own."""

from __future__ import annotations

from typing import Any

from penstock.keras.engine.added_metrics import Added, reported
from penstock.keras.engine.network import Network
from penstock.keras.engine.objective import Objective, objective
from penstock.keras.engine.tally import SAMPLES, Part, Tally
from penstock.keras.nested import unique


class Reports(Network):
    """A network and the objective that `compile` gave it; what its steps report may grow until they are planned."""

    optimizer: Any = None
    loss: Any = None
    metrics: Any = None
    loss_weights: Any = None
    sample_weight_mode: Any = None
    _compiled: tuple[Any, Any]
    _objectives: dict[bool, Objective]
    _reported: tuple[list[str], list[Any]] | None = None
    """Names, "loss" first, and tensors but for it."""
    _reported_at = (0, 0, 0)
    _from_layers: list[Added]
    _so_far: Tally | None = None
    """The sums of the last pass, which steps of their own go on with."""

    def _make_objective(self, weighted: bool = False) -> Objective:
        if weighted not in self._objectives:
            weighted_metrics, targets = self._compiled
            plain = self._make_objective() if weighted else None
            self._objectives[weighted] = objective(
                self, self.loss, self.metrics, weighted_metrics, self.loss_weights, targets, plain
            )
        return self._objectives[weighted]

    def _compiled_objective(self, weighted: bool = False) -> Objective:
        if self.optimizer is None:
            raise RuntimeError("You must compile your model before using it.")
        return self._make_objective(weighted)

    @property
    def metrics_names(self) -> list[str]:
        """The names of what `evaluate` returns: a list that programs add to, as to `metrics_tensors`."""
        return self._reports()[0]

    @property
    def metrics_tensors(self) -> list[Any]:
        """What is reported besides the loss: programs add tensors, whose names they add to `metrics_names`."""
        return self._reports()[1]

    def _reports(self) -> tuple[list[str], list[Any]]:
        made = self._compiled_objective()
        state = Added.count, id(self._nodes), len(self._own_calls)
        if self._reported is not None and state == self._reported_at:
            return self._reported
        more, metrics = reported(self)
        if self._reported is None:
            self._reported = list(made.names), list(made.values[1:])
            self._from_layers = []
        self._reported_at = state
        if metrics != self._from_layers:  # what the program has put into the lists stays behind them
            names, tensors = self._reported
            known, count = len(made.names), len(self._from_layers)
            names[known : known + count] = more
            tensors[known - 1 : known - 1 + count] = [metric.value for metric in metrics]
            self._from_layers = metrics
        return self._reported

    def _added_parts(self) -> list[Part]:
        """Of what layers have added, and of the tensors that the program has added to `metrics_tensors`."""
        parts = {id(metric.value): metric.part for metric in self._metrics_of_layers()}
        added = self._reports()[1][len(self._compiled_objective().values) - 1 :]
        return [parts.get(id(tensor)) or Part(SAMPLES, tensor) for tensor in added]

    def _parts(self, weighted: bool) -> list[Part]:
        return [*self._compiled_objective(weighted).parts, *self._added_parts()]

    def tally(self, by_steps: bool) -> Tally:
        """What sums up a pass: with by_steps, the loss is a mean over steps."""
        self._so_far = Tally(self._parts, by_steps)
        return self._so_far

    def reported_names(self) -> list[str]:
        """A name for all that steps return; names that were added without tensors have no effect."""
        names, tensors = self._reports()
        return names[: len(tensors) + 1]

    @property
    def stateful_metric_names(self) -> list[str]:
        of_objects = [metric.name for metric in self._metrics_of_layers() if metric.metric is not None]
        return [*self._compiled_objective().stateful, *of_objects]

    @property
    def total_loss(self) -> Any:
        """What training minimises."""
        return self._compiled_objective().values[0]

    @property
    def targets(self) -> list[Any]:
        return list(self._compiled_objective().targets)

    @property
    def sample_weights(self) -> list[Any]:
        return list(self._compiled_objective(weighted=True).weights)

    def reset_metrics(self) -> None:
        """Begin anew with metrics that are kept over steps."""
        self._so_far = None
        added = [metric.metric for metric in self._metrics_of_layers() if metric.metric is not None]
        for metric in unique(self._compiled_objective().resets, added):
            metric.reset_states()

    def _metrics_of_layers(self) -> list[Added]:
        self._reports()
        return self._from_layers
