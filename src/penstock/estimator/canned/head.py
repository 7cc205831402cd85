"""Heads: what follows the logits of a model - its predictions, loss, metrics, exported outputs and training step."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from penstock.client.lookup_vocabularies import index_table_from_tensor, index_to_string_table_from_tensor
from penstock.estimator.canned.head_base import HeadBase, LossSpec
from penstock.estimator.export.outputs import DEFAULT, ExportOutput, PredictOutput
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.feature_column.base import Features
from penstock.feature_column.numeric import NumericColumn, numeric_column
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies, get_collection, name_scope
from penstock.losses.collected import Reduction, compute_weighted_loss
from penstock.metrics.means import mean
from penstock.ops.add_n import add_n
from penstock.ops.array import expand_dims
from penstock.ops.basic import group, identity
from penstock.ops.cast import cast
from penstock.ops.checks import assert_equal, assert_less_equal, assert_non_negative
from penstock.ops.reduce import reduce_sum
from penstock.ops.string_conversions import as_string
from penstock.summary.functions import scalar
from penstock.tensor.dtypes import float32, int64, string
from penstock.train.global_step import get_global_step

Metrics = dict[str, Any]


class Head(HeadBase):
    """A head of the canned estimators.

    weight_column: a feature with the examples' weights, or a numeric column. loss_fn: called with labels, logits and
    those of features and loss_reduction that it names, instead of the head's own loss. name: for heads beside others,
    the ending of its metrics' names.
    """

    def __init__(
        self, weight_column: Any, loss_reduction: str, loss_fn: Callable[..., Any] | None, name: str | None
    ) -> None:
        if loss_reduction == Reduction.NONE or loss_reduction not in Reduction.all():
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        self._weight_column, self._loss_reduction, self._name = weight_column, loss_reduction, name
        if loss_fn is not None and not {"labels", "logits"} <= set(inspect.signature(loss_fn).parameters):
            raise ValueError(f"loss_fn must contain arguments: labels, logits. Given arguments: {loss_fn}")
        self._loss_fn = loss_fn

    @property
    def name(self) -> str | None:
        return self._name

    # --- for subclasses ---------------------------------------------------------------------------------

    label_dimension = 1
    takes_sparse_labels = False

    @abc.abstractmethod
    def predictions(self, logits: Tensor) -> dict[str, Any]: ...

    @abc.abstractmethod
    def outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """What an exported model gives beside the predictions; the first one is the default."""

    @abc.abstractmethod
    def processed_labels(self, labels: Tensor) -> Tensor:
        """The labels as the loss takes them."""

    @abc.abstractmethod
    def own_loss(self, labels: Tensor, logits: Tensor) -> Tensor:
        """The loss of each example."""

    @abc.abstractmethod
    def own_metrics(self, found: LossSpec, predictions: dict[str, Any]) -> Metrics:
        """Metrics beside the average loss."""

    # --- the parts of a spec ----------------------------------------------------------------------------

    def metric(self, name: str) -> str:
        """A metric's or summary's name."""
        return f"{name}/{self._name}" if self._name else name

    def create_loss(self, features: Any, mode: str, logits: Tensor, labels: Any) -> LossSpec:
        logits = convert_to_tensor(logits)
        if not (self.takes_sparse_labels and isinstance(labels, SparseTensor)):
            labels = _checked_labels(labels, logits, self.label_dimension)
        labels = self.processed_labels(labels)
        if self._loss_fn is None:
            each = self.own_loss(labels, logits)
        else:
            known = {"features": features, "loss_reduction": self._loss_reduction}
            wanted = {key: known[key] for key in known if key in inspect.signature(self._loss_fn).parameters}
            each = convert_to_tensor(self._loss_fn(labels=labels, logits=logits, **wanted))
        weights = weights_of(features, self._weight_column)
        return LossSpec(compute_weighted_loss(each, weights, reduction=self._loss_reduction), each, weights, labels)

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:
        """The EstimatorSpec of a model with these logits [batch, logits_dimension].

        Training minimises the loss, and the sum of `regularization_losses`, with `optimizer`, or runs `train_op_fn` of
        it, and runs UPDATE_OPS.
        """
        with name_scope(self._name, "head"):
            logits = _checked_logits(logits, self.logits_dimension)
            with name_scope(None, "predictions", [logits]):
                predictions = self.predictions(logits)
                if mode == ModeKeys.PREDICT:
                    outputs = self.outputs(predictions)
                    outputs = {DEFAULT: next(iter(outputs.values()), PredictOutput(predictions)), **outputs}
                    outputs["predict"] = PredictOutput(predictions)
                    return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            found = self.create_loss(features, mode, logits, labels)
            extra = add_n(regularization_losses) if regularization_losses else None
            loss = found.training_loss if extra is None else found.training_loss + extra
            if mode == ModeKeys.EVAL:
                metrics = self._metrics(found, predictions, extra)
                return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=metrics)
            train_op = self._train_op(loss, optimizer, train_op_fn)
            average = None
            if self._loss_reduction == Reduction.SUM:  # programs log it by its name, "head/truediv"
                average = found.training_loss / reduce_sum(found.weights * get_op("OnesLike")(found.unreduced_loss))
        with name_scope(""):
            scalar(self.metric("loss"), loss)
            if average is not None:
                scalar(self.metric("average_loss"), average)
            if extra is not None:
                scalar(self.metric("regularization_loss"), extra)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def _train_op(self, loss: Tensor, optimizer: Any, train_op_fn: Callable[[Tensor], Any] | None) -> Any:
        return train_op_of(loss, optimizer, train_op_fn)

    def _metrics(self, found: LossSpec, predictions: dict[str, Any], extra: Tensor | None) -> Metrics:
        with name_scope(None, "metrics", [found.processed_labels, found.unreduced_loss]):
            metrics = {"average_loss": mean(found.unreduced_loss, found.weights, name="average_loss")}
            if extra is not None:
                metrics["regularization_loss"] = mean(extra, name="regularization_loss")
            metrics.update(self.own_metrics(found, predictions))
            return {self.metric(name): metric for name, metric in metrics.items()}


def train_op_of(loss: Tensor, optimizer: Any, train_op_fn: Callable[[Tensor], Any] | None) -> Any:
    """What a step of training runs. Raises ValueError unless there is either an optimizer or a function."""
    if optimizer is not None:
        if train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        train_op = optimizer.minimize(loss, global_step=get_global_step())
    elif train_op_fn is not None:
        train_op = train_op_fn(loss)
    else:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    updates: list[Operation] = get_collection(GraphKeys.UPDATE_OPS)
    return group(train_op, *updates) if updates else train_op


# --- logits, labels and weights -------------------------------------------------------------------------


def _checked_logits(logits: Any, dimension: int) -> Tensor:
    logits = cast(convert_to_tensor(logits), float32)
    if logits.shape.ndims is not None:
        if logits.shape.ndims < 2:
            rank = logits.shape.ndims
            raise ValueError(f"logits must have rank at least 2. Received rank {rank}, shape {logits.shape}")
        last = logits.shape.as_list()[-1]
        if last is not None and last != dimension:
            raise ValueError(f"logits shape must be [D0, D1, ... DN, {dimension}], got {logits.shape}.")
        if last is not None:
            return logits
    return _with_last(logits, dimension, "logits")


def _with_last(tensor: Tensor, dimension: int, what: str) -> Tensor:
    """A tensor whose last dimension a step checks."""
    last = get_op("Shape")(tensor)[-1]
    with control_dependencies([assert_equal(last, dimension, message=f"{what} shape must be [..., {dimension}]")]):
        return identity(tensor)


def _checked_labels(labels: Any, logits: Tensor, dimension: int) -> Any:
    """The labels, [batch] as [batch, 1]."""
    if labels is None:
        raise ValueError(
            "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data "
            "contain your label feature. Check that your input_fn properly parses and returns labels."
        )
    if isinstance(labels, SparseTensor):
        raise ValueError(
            f"SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, {dimension}], "
            f"e.g. [batch_size, {dimension}]. Suggested Fix (1): Check the label feature in your data. Each example "
            f"must contain {dimension} value(s). If not, your choice of label was probably incorrect. Suggested Fix "
            "(2): In your input_fn, use tf.sparse_tensor_to_dense() to turn labels into a Tensor."
        )
    labels = convert_to_tensor(labels)
    if None not in (labels.shape.ndims, logits.shape.ndims) and labels.shape.ndims == logits.shape.ndims - 1:
        labels = expand_dims(labels, -1)
    if labels.shape.ndims is not None and labels.shape.ndims >= 2:
        last = labels.shape.as_list()[-1]
        if last is not None and last != dimension:
            raise ValueError(
                f"Mismatched label shape. Expected labels dimension={dimension}.  Received {last}. Suggested Fix:"
                "If your classifier expects one-hot encoding label,check your n_classes argument to the estimator "
                "and/or the shape of your label. Otherwise, check the shape of your label."
            )
        if last is not None:
            return labels
    return _with_last(labels, dimension, "labels")


def weights_of(features: Any, weight_column: Any) -> Any:
    """The weights of the examples, [batch, 1], or 1."""
    if weight_column is None:
        return 1.0
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise TypeError(f"Weight column must be either a string or _NumericColumn. Given type: {type(column)}.")
    if not isinstance(features, Mapping):
        raise ValueError(f"features must be a dict with the weights, given {features}")
    return Features(features).get(column)


def checked_vocabulary(label_vocabulary: Any, n_classes: int) -> tuple[str, ...] | None:
    if label_vocabulary is None:
        return None
    if not isinstance(label_vocabulary, list | tuple):
        raise ValueError(f"label_vocabulary should be a list or tuple. Given type: {type(label_vocabulary)}")
    if n_classes != len(label_vocabulary):
        raise ValueError(
            f'"label_vocabulary" does not have "n_classes" items. n_classes={n_classes}, vocabulary={label_vocabulary}'
        )
    return tuple(label_vocabulary)


def class_ids(labels: Tensor, vocabulary: tuple[str, ...] | None, n_classes: int, dtype: Any = int64) -> Tensor:
    """Labels as ids in [0, n_classes); a step fails for others."""
    kind = labels.dtype.base_dtype
    if vocabulary is None:
        if dtype == int64 and not kind.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {kind}.")
        ids = labels
    else:
        if kind != string:
            raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {kind}.")
        ids = index_table_from_tensor(vocabulary, name="class_id_lookup").lookup(labels)
    return in_range(cast(ids, dtype), n_classes)


def in_range(labels: Tensor, n_classes: int, message: str | None = None) -> Tensor:
    with name_scope(None, "assert_range", [labels]):
        limit = convert_to_tensor(n_classes - 1, labels.dtype)
        below = assert_less_equal(labels, limit, message=message or "Labels must be <= n_classes - 1")
        above = assert_non_negative(labels, message=message or "Labels must be >= 0")
        with control_dependencies([below, above]):
            return identity(labels)


def class_names(ids: Tensor, vocabulary: tuple[str, ...] | None) -> Tensor:
    """The names of classes: those of the vocabulary, or their numbers."""
    if vocabulary is None:
        return as_string(ids, name="str_classes")
    return index_to_string_table_from_tensor(vocabulary, name="class_string_lookup").lookup(ids)


def all_classes(vocabulary: tuple[str, ...] | None, n_classes: int, logits: Tensor) -> tuple[Tensor, Tensor]:
    """[batch, n_classes]: the ids and the names of all classes, for each example."""
    names = [str(i) for i in range(n_classes)] if vocabulary is None else list(vocabulary)
    batch = get_op("Shape")(logits)[0]
    each = get_op("Pack")([batch, 1])
    tile, expand = get_op("Tile"), get_op("ExpandDims")
    ids = get_op("Range")(0, n_classes, 1)
    return tile(expand(ids, 0), each), tile(expand(convert_to_tensor(names), 0), each)
