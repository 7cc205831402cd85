"""`EstimatorSpec`: what a model function returns."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from penstock import nest
from penstock.client.variable import Variable
from penstock.estimator.export.outputs import ExportOutput, with_default_output
from penstock.estimator.mode_keys import ModeKeys
from penstock.export import export
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import get_default_graph
from penstock.ops.array import reshape
from penstock.tensor.shapes import TensorShape
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.scaffold import Scaffold

LOSS_METRIC_KEY = "loss"
"""The name of the mean loss among the metrics of an evaluation."""

_FOREIGN = (
    '{0} with "{1}" must be from the default graph. Possible causes of this error include: \n\n'
    "1) {0} was created outside the context of the default graph.\n\n"
    '2) The object passed through to EstimatorSpec was not created in the most recent call to "model_fn".'
)


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    export_outputs: dict[str, ExportOutput] | None
    training_chief_hooks: tuple[SessionRunHook, ...]
    training_hooks: tuple[SessionRunHook, ...]
    scaffold: Scaffold
    evaluation_hooks: tuple[SessionRunHook, ...]
    prediction_hooks: tuple[SessionRunHook, ...]


@export("estimator.EstimatorSpec")
class EstimatorSpec(_Fields):
    """The parts of a model that a mode needs (TF: tf.estimator.EstimatorSpec).

    mode: a ModeKeys. predictions: a tensor or a dict of tensors, for PREDICT. loss: a scalar, for TRAIN and EVAL.
    train_op: what a step of training runs, for TRAIN. eval_metric_ops: (value, update_op) by name, for EVAL.
    export_outputs: ExportOutputs by name, for exported models; by default its predictions. Hooks are run in the mode
    that they are named after. Raises ValueError for what is missing or of another graph, TypeError for what is not of
    the right kind.
    """

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> Self:
        if train_op is None:
            if mode == ModeKeys.TRAIN:
                raise ValueError("Missing train_op.")
        elif not (isinstance(train_op, Operation) or _is_tensor(train_op)):
            raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
        loss = _checked_loss(loss, mode)
        predictions = _checked_predictions(predictions, mode)
        eval_metric_ops = _checked_metrics(eval_metric_ops)
        if mode == ModeKeys.PREDICT:
            export_outputs = with_default_output(export_outputs, predictions)
        _check_graph(predictions, loss, train_op, eval_metric_ops)
        hooks = [tuple(given or ()) for given in (training_chief_hooks, training_hooks)]
        hooks += [tuple(given or ()) for given in (evaluation_hooks, prediction_hooks)]
        for hook in (hook for given in hooks for hook in given):
            if not isinstance(hook, SessionRunHook):
                raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
        scaffold = scaffold or Scaffold()
        if not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            eval_metric_ops,
            export_outputs,
            hooks[0],
            hooks[1],
            scaffold,
            hooks[2],
            hooks[3],
        )

    def _replace(self, **changes: Any) -> Self:
        """A copy with other fields, checked anew. Raises ValueError for another mode."""
        if changes.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        return type(self)(**{**self._asdict(), **changes})


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor | Variable)


def _checked_loss(loss: Any, mode: str) -> Any:
    """The loss, as a scalar."""
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    if not _is_tensor(loss):
        raise TypeError(f"loss must be Tensor, given: {loss}")
    shape = loss.get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return loss if shape.is_compatible_with(TensorShape([])) else reshape(loss, [])


def _checked_predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if not isinstance(predictions, dict):
        if not _is_tensor(predictions):
            raise TypeError(f"predictions must be Tensor, given: {predictions}")
        return predictions
    for name, value in predictions.items():
        if not _is_tensor(value):
            raise TypeError(f"predictions[{name}] must be Tensor, given: {value}")
    return predictions


def _checked_metrics(metrics: Any) -> dict[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, pair in metrics.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {pair} for key: {key}"
            )
        for part in nest.flatten(pair):
            if not (isinstance(part, Operation) or _is_tensor(part)):
                raise TypeError(f"eval_metric_ops[{key}] must be Operation or Tensor, given: {part}")
    return metrics


def _check_graph(predictions: Any, loss: Any, train_op: Any, metrics: dict[str, Any]) -> None:
    graph = get_default_graph()
    named = predictions if isinstance(predictions, dict) else {"": predictions}
    parts = [("prediction values", f"{key}: " if key else "", part) for key, part in named.items()]
    parts += [("loss", "", loss), ("train_op", "", train_op)]
    parts += [("eval_metric_ops", f"{key}: ", part) for key, pair in metrics.items() for part in nest.flatten(pair)]
    for what, prefix, part in parts:
        if part is not None and part.graph is not graph:
            raise ValueError(_FOREIGN.format(what, f"{prefix}{part.name}"))
