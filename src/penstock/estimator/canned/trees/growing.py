"""Growers: they collect sums of gradients and hessians of batches, and grow a layer once there is enough of them."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

from penstock.client.accumulators import ConditionalAccumulator
from penstock.client.boosted_trees import QuantileAccumulator, TreeEnsemble, listed
from penstock.graph.convert import constant
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.array import expand_dims
from penstock.ops.basic import group, no_op
from penstock.ops.boosted_trees.ensemble import NO_PRUNING, POST_PRUNING, PRE_PRUNING
from penstock.ops.boosted_trees.stats_ops import CALCULATE_BEST_GAINS
from penstock.ops.boosted_trees.training_ops import CENTER_BIAS, UPDATE_ENSEMBLE
from penstock.ops.compare import greater_equal
from penstock.ops.control_flow.cond import cond
from penstock.ops.reduce import reduce_mean, reduce_min
from penstock.ops.stacking import stack, unstack
from penstock.tensor.dtypes import float32

_PRUNING = {"none": NO_PRUNING, "post": POST_PRUNING, "pre": PRE_PRUNING}


class Hyperparameters(NamedTuple):
    """Of trees; see `BoostedTreesClassifier`."""

    n_trees: int
    max_depth: int
    learning_rate: float
    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float
    center_bias: bool
    pruning_mode: str
    quantile_sketch_epsilon: float

    @property
    def max_splits(self) -> int:
        """An upper limit for the number of nodes that are split in a tree."""
        return (1 << self.max_depth) - 1

    @property
    def num_quantiles(self) -> int:
        return int(1.0 / self.quantile_sketch_epsilon)

    def pruning(self) -> int:
        """Raises ValueError if the mode does not fit the complexity's penalty."""
        if self.pruning_mode not in _PRUNING:
            raise ValueError(f"pruning_mode mode must be one of: {', '.join(sorted(_PRUNING))}")
        if (self.pruning_mode == "none") and self.tree_complexity > 0:
            raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
        if (self.pruning_mode != "none") and self.tree_complexity <= 0:
            raise ValueError("For pruning, tree_complexity must be positive.")
        return _PRUNING[self.pruning_mode]


class Grower(abc.ABC):
    """Grows `ensemble`. groups: the numbers of features by how many buckets these have."""

    def __init__(
        self,
        ensemble: TreeEnsemble,
        quantiles: QuantileAccumulator | None,
        parameters: Hyperparameters,
        groups: dict[int, list[int]],
    ) -> None:
        self._ensemble, self._quantiles, self._parameters, self._groups = ensemble, quantiles, parameters, groups
        self._pruning = parameters.pruning()

    @abc.abstractmethod
    def accumulate_quantiles(self, numbers: list[Tensor], weights: Any, ready: Any) -> Operation:
        """Adds a batch of numbers; when there are enough, makes boundaries of them and sets the variable `ready`."""

    @abc.abstractmethod
    def center_bias(self, needed: Any, gradients: Tensor, hessians: Tensor) -> Operation:
        """Gives the ensemble a first value; sets the variable `needed` to False once it is good enough."""

    @abc.abstractmethod
    def grow_tree(self, summaries: list[Tensor], last_layer: Tensor) -> Operation:
        """Grows a layer, if there is enough to know. summaries: [features, nodes, buckets, 2] for each group of
        features; last_layer: the nodes to split, [first, end]."""

    def chief_init_op(self) -> Operation:
        """What the chief runs when a session begins."""
        return no_op()

    # --- for subclasses ---------------------------------------------------------------------------------

    def boundaries_of_all(self, ready: Any) -> Operation:
        assert self._quantiles is not None
        flushed = self._quantiles.flush()
        with control_dependencies([flushed]):
            return group(ready.assign(True))

    def center(self, needed: Any, mean_gradients: Tensor, mean_hessians: Tensor) -> tuple[Tensor, Operation]:
        """Whether to go on, and the operation that says so to the variable. Means: [1, 1]."""
        goes_on: Tensor = CENTER_BIAS(
            self._ensemble.resource_handle, mean_gradients, mean_hessians, self._parameters.l1, self._parameters.l2
        )
        return goes_on, group(needed.assign(goes_on))

    def grow(self, summaries: list[Tensor], last_layer: Tensor) -> Operation:
        p = self._parameters
        columns: list[list[Tensor]] = [[], [], [], [], []]
        features: list[int] = []
        for summary, numbers in zip(summaries, self._groups.values(), strict=True):
            found = CALCULATE_BEST_GAINS(
                last_layer,
                unstack(summary, len(numbers)),
                p.l1,
                p.l2,
                p.tree_complexity,
                p.min_node_weight,
                max_splits=p.max_splits,
            )
            for column, more in zip(columns, found, strict=True):
                column += listed(more)
            features += numbers
        done: Operation = UPDATE_ENSEMBLE(
            self._ensemble.resource_handle,
            features,
            *columns,
            p.max_depth,
            p.learning_rate,
            pruning_mode=self._pruning,
        )
        return done


class InMemoryGrower(Grower):
    """Every batch is all of the data: each grows a layer."""

    def accumulate_quantiles(self, numbers: list[Tensor], weights: Any, ready: Any) -> Operation:
        assert self._quantiles is not None
        with control_dependencies([self._quantiles.add_summaries(numbers, weights)]):
            return self.boundaries_of_all(ready)

    def center_bias(self, needed: Any, gradients: Tensor, hessians: Tensor) -> Operation:
        means = [expand_dims(reduce_mean(each, 0), 0) for each in (gradients, hessians)]
        return self.center(needed, *means)[1]

    def grow_tree(self, summaries: list[Tensor], last_layer: Tensor) -> Operation:
        return self.grow(summaries, last_layer)


class AccumulatingGrower(Grower):
    """`batches` batches, of all workers, grow a layer; only the chief grows it.

    stamp: the ensemble's, by which accumulators drop what was computed before the last layer.
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        quantiles: QuantileAccumulator | None,
        parameters: Hyperparameters,
        groups: dict[int, list[int]],
        stamp: Tensor,
        batches: Any,
        is_chief: bool,
    ) -> None:
        super().__init__(ensemble, quantiles, parameters, groups)
        self._stamp, self._batches, self._is_chief = stamp, batches, is_chief
        self._sums = [
            ConditionalAccumulator(
                float32,
                [len(numbers), parameters.max_splits, buckets, 2],
                shared_name=f"numeric_stats_summary_accumulator_{index}",
            )
            for index, (buckets, numbers) in enumerate(groups.items())
        ]
        self._begun = [each.set_global_step(stamp) for each in self._sums]
        if parameters.center_bias:
            self._bias = ConditionalAccumulator(float32, [2, 1], shared_name="bias_accumulator")
            self._begun.append(self._bias.set_global_step(stamp))

    def chief_init_op(self) -> Operation:
        return group(*self._begun)

    def accumulate_quantiles(self, numbers: list[Tensor], weights: Any, ready: Any) -> Operation:
        assert self._quantiles is not None
        batches = ConditionalAccumulator(float32, [], shared_name="quantile_summary_accum")
        added = group(
            self._quantiles.add_summaries(numbers, weights),
            batches.set_global_step(self._stamp),
            batches.apply_grad(constant(0.0), self._stamp),
        )
        if not self._is_chief:
            return added

        def flush() -> Operation:
            return group(batches.take_grad(1), self.boundaries_of_all(ready))

        with control_dependencies([added]):
            return self._if_enough(batches.num_accumulated(), flush, "wait_until_quaniles_accumulated")

    def center_bias(self, needed: Any, gradients: Tensor, hessians: Tensor) -> Operation:
        means = reduce_mean(stack([gradients, hessians]), 1)
        with control_dependencies([self._bias.apply_grad(means, self._stamp)]):
            if not self._is_chief:
                return no_op()

            def center() -> Operation:
                mean_gradients, mean_hessians = (expand_dims(each, 0) for each in unstack(self._bias.take_grad(1), 2))
                goes_on, done = self.center(needed, mean_gradients, mean_hessians)
                with control_dependencies([done]):
                    return group(cond(goes_on, no_op, self._begin_growing))

            return self._if_enough(self._bias.num_accumulated(), center, "wait_until_n_batches_for_bias_accumulated")

    def _begin_growing(self) -> Operation:
        return group(*[each.set_global_step(self._stamp + 1) for each in self._sums])

    def grow_tree(self, summaries: list[Tensor], last_layer: Tensor) -> Operation:
        pairs = list(zip(self._sums, summaries, strict=True))
        with control_dependencies([sums.apply_grad(summary, self._stamp) for sums, summary in pairs]):
            if not self._is_chief:
                return no_op()

            def grow() -> Operation:
                return self.grow([sums.take_grad(1) for sums in self._sums], last_layer)

            least = reduce_min(stack([sums.num_accumulated() for sums in self._sums]))
            return self._if_enough(least, grow, "wait_until_n_batches_accumulated")

    def _if_enough(self, accumulated: Tensor, then: Any, name: str) -> Operation:
        return group(cond(greater_equal(accumulated, self._batches), then, no_op, name=name))
