"""The model of gradient boosted trees: each step predicts a batch with the trees so far, and sums up its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.client.boosted_trees import QuantileAccumulator, TreeEnsemble
from penstock.client.variable import Variable
from penstock.estimator.canned.trees import columns as tree_columns
from penstock.estimator.canned.trees.growing import AccumulatingGrower, Grower, Hyperparameters, InMemoryGrower
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.feature_column.numeric import numeric_column
from penstock.gradients.gradients import gradients as gradients_of
from penstock.graph.convert import constant
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array import shape
from penstock.ops.basic import group, no_op
from penstock.ops.boosted_trees.prediction_ops import PREDICT, TRAINING_PREDICT
from penstock.ops.boosted_trees.stats_ops import MAKE_STATS_SUMMARY
from penstock.ops.control_flow.cond import cond
from penstock.ops.filling import fill, zeros
from penstock.ops.state import assign_add
from penstock.summary.functions import scalar
from penstock.tensor.dtypes import int32
from penstock.train.global_step import get_or_create_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook

GradientsAndHessians = Callable[[Tensor, Any], tuple[Tensor, Tensor]]
_NOWHERE = -1
"""The node of an example that no tree has seen."""


class Trees:
    """The state of a model in a graph: an ensemble, and for numbers without buckets their quantiles.

    Made in the name scope "boosted_trees", whose name is `scope`.
    """

    def __init__(self, scope: str, columns: list[Any], parameters: Hyperparameters) -> None:
        self.columns, self.numeric = columns, tree_columns.float_columns(columns)
        self.ensemble = TreeEnsemble(scope)
        self.quantiles: QuantileAccumulator | None = None
        self._boundaries: list[Tensor] = []
        if self.numeric:
            self.quantiles = QuantileAccumulator(
                parameters.quantile_sketch_epsilon,
                tree_columns.number_of_features(self.numeric),
                parameters.num_quantiles,
                name="QuantileAccumulator",
            )
            self._boundaries = self.quantiles.get_bucket_boundaries()

    def buckets(self, features: Any) -> list[Tensor]:
        return tree_columns.buckets(features, self.columns, self._boundaries)

    def logits(self, buckets: list[Tensor], dimension: int) -> Tensor:
        """[examples, dimension]: what all trees say together."""
        found: Tensor = PREDICT(self.ensemble.resource_handle, buckets, logits_dimension=dimension)
        return found


def model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Any,
    columns: list[Any],
    parameters: Hyperparameters,
    n_batches_per_layer: Any,
    config: RunConfig,
    closed_form: GradientsAndHessians | None,
    weight_column: Any,
    train_in_memory: bool,
) -> EstimatorSpec:
    """See `BoostedTreesClassifier`. closed_form: gradients and hessians of logits and labels; by default those that
    `tf.gradients` gives."""
    with name_scope("boosted_trees") as scope:
        step = get_or_create_global_step()
        trees = Trees(scope, columns, parameters)
        if mode != ModeKeys.TRAIN:
            logits = trees.logits(trees.buckets(features), head.logits_dimension)
            return _spec(head, features, mode, labels, logits, lambda loss: no_op())
        if train_in_memory:
            _check_in_memory(n_batches_per_layer, config)
        training = _Training(trees, features, labels, head, parameters, n_batches_per_layer, config, train_in_memory)
        weights = _weights(features, weight_column)

        def train(loss: Tensor) -> Operation:
            def grow() -> Operation:
                return training.grow(loss, labels, closed_form, step)

            if not trees.numeric:
                return grow()

            def look() -> Operation:
                numbers = tree_columns.numbers(features, trees.numeric)
                return training.grower.accumulate_quantiles(numbers, weights, training.ready)

            return group(cond(training.ready, grow, look))

        spec = _spec(head, features, mode, labels, training.logits, train)
    stop = _StopHook(*training.progress, parameters.n_trees, parameters.max_depth)
    begin = _BeginHook(training.grower.chief_init_op())
    return spec._replace(
        training_hooks=(*spec.training_hooks, stop), training_chief_hooks=(begin, *spec.training_chief_hooks)
    )


def _spec(head: Any, features: Any, mode: str, labels: Any, logits: Tensor, train: Callable[..., Any]) -> EstimatorSpec:
    found: EstimatorSpec = head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=train, logits=logits
    )
    return found


def _check_in_memory(n_batches_per_layer: Any, config: RunConfig) -> None:
    assert n_batches_per_layer == 1, (
        "When train_in_memory is enabled, input_fn should return the entire dataset as a single batch, and "
        "n_batches_per_layer should be set as 1."
    )
    if not config.is_chief or config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
        raise ValueError("train_in_memory is supported only for non-distributed training.")


def _weights(features: Any, weight_column: Any) -> Tensor:
    """[examples], or [1] without a column."""
    if weight_column is None:
        return constant([1.0])
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    return tree_columns.numbers(features, [column])[0]


def _variable(value: Any, name: str) -> Any:
    return Variable(value, trainable=False, validate_shape=False, name=name, use_resource=True)


class _Training:
    """A step's prediction, and what grows the trees after it."""

    def __init__(
        self,
        trees: Trees,
        features: Any,
        labels: Any,
        head: Any,
        parameters: Hyperparameters,
        n_batches_per_layer: Any,
        config: RunConfig,
        in_memory: bool,
    ) -> None:
        self._parameters = parameters
        self._groups = tree_columns.groups_by_buckets(trees.columns, parameters.num_quantiles)
        self.ready = _variable(not trees.numeric, "are_boundaries_ready")
        self._buckets = trees.buckets(features)
        cached = self._cached(shape(labels)[0], head.logits_dimension, in_memory)
        ensemble, reloaded = _local_copy(trees.ensemble, config)
        with control_dependencies([reloaded]):
            stamp, count, finished, attempted, self._last_layer = ensemble.get_states()
            partial, self._tree_ids, self._node_ids = TRAINING_PREDICT(
                ensemble.resource_handle, *cached[:2], self._buckets, logits_dimension=head.logits_dimension
            )
        self.logits = cached[2] + partial
        self.progress = finished, attempted
        self.grower: Grower
        if in_memory:
            self.grower = InMemoryGrower(trees.ensemble, trees.quantiles, parameters, self._groups)
        else:
            self.grower = AccumulatingGrower(
                trees.ensemble,
                trees.quantiles,
                parameters,
                self._groups,
                stamp,
                n_batches_per_layer,
                config.is_chief,
            )
        scalar("ensemble/num_trees", count)
        scalar("ensemble/num_finalized_trees", finished)
        scalar("ensemble/num_attempted_layers", attempted)
        self._centers = _variable(parameters.center_bias, "center_bias_needed")

    def _cached(self, batch: Tensor, dimension: int, in_memory: bool) -> list[Any]:
        """Where each example was in the last step, and its logits: tree, node, [examples, dimension]."""
        values = [zeros([batch], int32), fill([batch], _NOWHERE), zeros([batch, dimension])]
        if not in_memory:
            self._cache = None
            return values
        # TensorFlow's checkpoints have features too, of the steps before there are boundaries; nothing reads them.
        for number in range(len(self._buckets)):
            _variable(zeros([batch], int32), f"cached_feature_{number}")
        _variable(False, "are_features_cached")
        names = ("tree_ids_cache", "node_ids_cache", "logits_cache")
        self._cache = [_variable(value, name) for value, name in zip(values, names, strict=True)]
        return [variable.read_value() for variable in self._cache]

    def _remember(self) -> Operation:
        assert self._cache is not None
        found = self._tree_ids, self._node_ids, self.logits
        return group(*[variable.assign(value) for variable, value in zip(self._cache, found, strict=True)])

    def grow(self, loss: Tensor, labels: Any, closed_form: GradientsAndHessians | None, step: Any) -> Operation:
        """Sums up a batch, grows a layer if that is enough, and counts the step."""
        if closed_form is not None:
            gradients, hessians = closed_form(self.logits, labels)
        else:
            (gradients,) = gradients_of(loss, self.logits, name="Gradients")
            (hessians,) = gradients_of(gradients, self.logits, name="Hessians")
        summaries = [
            MAKE_STATS_SUMMARY(
                self._node_ids,
                gradients,
                hessians,
                [self._buckets[number] for number in numbers],
                max_splits=self._parameters.max_splits,
                num_buckets=buckets,
            )
            for buckets, numbers in self._groups.items()
        ]

        def update() -> Operation:
            return self.grower.grow_tree(summaries, self._last_layer)

        def center() -> Operation:
            return self.grower.center_bias(self._centers, gradients, hessians)

        done = []
        if self._cache is not None:  # while the bias changes, nothing is remembered
            done.append(group(cond(self._centers, no_op, self._remember)))
        done.append(group(cond(self._centers, center, update)) if self._parameters.center_bias else update())
        with control_dependencies(done[-1:]):
            done.append(group(assign_add(step, 1)))
        return group(*done, name="grow_op")


def _local_copy(ensemble: TreeEnsemble, config: RunConfig) -> tuple[TreeEnsemble, Operation]:
    """An ensemble to read in this worker, and the operation that brings it up to date."""
    if config.num_worker_replicas <= 1:
        return ensemble, no_op()
    local = TreeEnsemble("boosted_trees_local", is_local=True)
    return local, local.deserialize(*ensemble.serialize())


class _BeginHook(SessionRunHook):
    """Runs an operation in each new session."""

    def __init__(self, begun: Operation) -> None:
        self._begun = begun

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._begun)


class _StopHook(SessionRunHook):
    """Ends training when there are enough trees, or too many attempts to grow them."""

    def __init__(self, finished: Tensor, attempted: Tensor, n_trees: int, max_depth: int) -> None:
        self._fetches = [finished, attempted]
        self._n_trees, self._attempts = n_trees, 2 * n_trees * max_depth

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        finished, attempted = run_values.results  # maybe before this step has grown
        if finished >= self._n_trees - 1 or attempted > self._attempts - 1:
            finished, attempted = run_context.session.run(self._fetches)
        if finished >= self._n_trees or attempted > self._attempts:
            run_context.request_stop()
