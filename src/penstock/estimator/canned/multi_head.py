"""Several heads on one model (TF: tf.contrib.estimator.multi_head)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.canned.head import Head, train_op_of
from penstock.estimator.canned.head_base import HeadBase, LossSpec
from penstock.estimator.export.outputs import DEFAULT
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.metrics.means import mean
from penstock.ops.add_n import add_n
from penstock.summary.functions import scalar


class MultiHead(HeadBase):
    """Heads by name; logits and labels are dicts by these names, or all logits are one tensor side by side."""

    def __init__(self, heads: list[Head], weights: list[float]) -> None:
        self._heads, self._weights = heads, weights

    @property
    def name(self) -> str:
        return "_".join(str(head.name) for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads)

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        """The weighted sum of the heads' losses; the other fields are dicts by the heads' names."""
        parts = self._split(logits)
        found = {str(h.name): h.create_loss(features, mode, parts[h.name], labels[h.name]) for h in self._heads}
        total = self._total([one.training_loss for one in found.values()])
        each: Any = {name: one.unreduced_loss for name, one in found.items()}
        kept: Any = {name: one.processed_labels for name, one in found.items()}
        return LossSpec(total, each, {name: one.weights for name, one in found.items()}, kept)

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
        """Predictions have keys (head, name), metrics end in the heads' names, outputs begin with them."""
        if isinstance(labels, dict) and (missing := [h.name for h in self._heads if h.name not in labels]):
            raise ValueError(f"labels of heads {missing} are missing: there are {sorted(labels)}")
        parts, specs = self._split(logits), {}
        for head in self._heads:
            part = None if labels is None else labels[head.name]
            untrained = {"train_op_fn": lambda loss: loss} if mode == ModeKeys.TRAIN else {}
            specs[str(head.name)] = head.create_estimator_spec(features, mode, parts[head.name], part, **untrained)
        predictions = {(name, key): value for name, spec in specs.items() for key, value in spec.predictions.items()}
        if mode == ModeKeys.PREDICT:
            given = {name: spec.export_outputs or {} for name, spec in specs.items()}
            outputs = {DEFAULT: next(iter(given.values()))[DEFAULT]}
            for name, own in given.items():
                outputs[name] = own[DEFAULT]
                outputs |= {f"{name}/{key}": value for key, value in own.items() if key != DEFAULT}
            return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
        with name_scope(None, "multi_head"):
            loss = self._total([spec.loss for spec in specs.values()])
            extra = add_n(regularization_losses) if regularization_losses else None
            loss = loss if extra is None else loss + extra
        if mode == ModeKeys.EVAL:
            metrics = {f"loss/{name}": mean(spec.loss, name=f"loss/{name}") for name, spec in specs.items()}
            if extra is not None:
                metrics["regularization_loss"] = mean(extra, name="regularization_loss")
            for spec in specs.values():
                metrics |= spec.eval_metric_ops
            return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=metrics)
        train_op = train_op_of(loss, optimizer, train_op_fn)
        with name_scope(""):
            scalar("loss", loss)
            if extra is not None:
                scalar("regularization_loss", extra)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def _total(self, losses: list[Tensor]) -> Tensor:
        return add_n([loss * weight for loss, weight in zip(losses, self._weights, strict=True)])

    def _split(self, logits: Any) -> dict[Any, Tensor]:
        if isinstance(logits, dict):
            return logits
        tensor, begin, parts = convert_to_tensor(logits), 0, {}
        for head in self._heads:
            parts[head.name] = tensor[..., begin : begin + head.logits_dimension]
            begin += head.logits_dimension
        return parts


@export("contrib.estimator.multi_head")
def multi_head(heads: Any, head_weights: Any = None) -> MultiHead:
    """A head that trains the weighted sum of the losses of heads with different names (TF: the same name)."""
    heads = list(heads or [])
    if not heads:
        raise ValueError("Must specify heads. Given: []")
    weights = [1.0] * len(heads) if head_weights is None else list(head_weights)
    if len(weights) != len(heads):
        raise ValueError(f"heads and head_weights must have the same size. Given: {len(heads)} and {len(weights)}.")
    names = [head.name for head in heads]
    if None in names:
        raise ValueError(f"All given heads must have name specified. Given names: {names}")
    if len(set(names)) < len(names):
        raise ValueError(f"All heads must have different names. Given names: {names}")
    return MultiHead(heads, weights)
