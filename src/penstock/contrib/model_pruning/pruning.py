"""`Pruning`: the op that masks the smallest weights, so many of them as the step says."""

from __future__ import annotations

import re
from typing import Any

from penstock import logging
from penstock.client.initializers import zeros_initializer
from penstock.client.partitioned_variable import PartitionedVariable
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.contrib.model_pruning.masks import expand_tensor, get_masks, get_thresholds, get_weights
from penstock.contrib.training.hparams import HParams
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.add_n import add_n
from penstock.ops.arithmetic import add, maximum, minimum, multiply, pow as pow_
from penstock.ops.array import reshape, shape, size, squeeze
from penstock.ops.basic import group, no_op
from penstock.ops.cast import cast
from penstock.ops.compare import greater_equal, less, less_equal, logical_and, logical_or
from penstock.ops.control_flow.cond import cond
from penstock.ops.division import div
from penstock.ops.gather import gather
from penstock.ops.joining import split
from penstock.ops.nn.normalization import zero_fraction
from penstock.ops.nn.pooling_functions import pool
from penstock.ops.rounding import round as round_
from penstock.ops.slicing import slice as slice_
from penstock.ops.sorting import top_k
from penstock.ops.state import assign
from penstock.ops.unary import abs as abs_
from penstock.summary.functions import scalar
from penstock.tensor.dtypes import float32, int32
from penstock.train.global_step import get_global_step


@export("contrib.model_pruning.get_pruning_hparams")
def get_pruning_hparams() -> Any:
    """The hyperparameters of `Pruning`, with their defaults (TF: tf.contrib.model_pruning.get_pruning_hparams).

    Masks are updated every `pruning_frequency` steps from `begin_pruning_step` to `end_pruning_step` (-1: for ever).
    The fraction that is left out goes from `initial_sparsity` to `target_sparsity`, between
    `sparsity_function_begin_step` and `sparsity_function_end_step`, as a polynomial of `sparsity_function_exponent`;
    `weight_sparsity_map` has other targets, as "pattern of names:target". `threshold_decay` smooths thresholds.
    Matrices are masked in blocks of `block_height` x `block_width` (-1: all of them; `block_dims_map`:
    "pattern:4x4"), by the "AVG" or "MAX" of each (`block_pooling_function`). `name` is that of the scopes; `nbins` has
    no effect, as in TensorFlow; `use_tpu` makes the variable of the last update a resource.
    """
    return HParams(
        name="model_pruning",
        begin_pruning_step=0,
        end_pruning_step=-1,
        weight_sparsity_map=[""],
        block_dims_map=[""],
        threshold_decay=0.0,
        pruning_frequency=10,
        nbins=256,
        block_height=1,
        block_width=1,
        block_pooling_function="AVG",
        initial_sparsity=0.0,
        target_sparsity=0.5,
        sparsity_function_begin_step=0,
        sparsity_function_end_step=100,
        sparsity_function_exponent=3.0,
        use_tpu=False,
    )


@export("contrib.model_pruning.Pruning")
class Pruning:
    """Updates the masks of a graph (TF: tf.contrib.model_pruning.Pruning).

    spec: hyperparameters, those of `get_pruning_hparams` by default. global_step: the graph's by default. sparsity: a
    scalar, the fraction to leave out, instead of what the spec says. Raises ValueError for values out of range.
    """

    def __init__(self, spec: Any = None, global_step: Any = None, sparsity: Any = None) -> None:
        self._spec = spec or get_pruning_hparams()
        _validate(self._spec)
        step = get_global_step() if global_step is None else global_step
        self._global_step = cast(step, int32)
        self._sparsity = self._sparsity_of_step() if sparsity is None else sparsity
        self._assign_ops: list[Any] = []
        self._last_update_step = self._step_of_last_update()
        self._block_dims = _by_pattern(self._spec.block_dims_map, _as_block)
        self._targets = _by_pattern(self._spec.weight_sparsity_map, _as_target)

    def _sparsity_of_step(self) -> Tensor:
        spec = self._spec
        begin, steps = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with name_scope(spec.name):
            passed = div(cast(self._global_step - begin, float32), steps - begin)
            left = pow_(1 - minimum(1.0, maximum(0.0, passed)), spec.sparsity_function_exponent)
            apart = multiply(spec.initial_sparsity - spec.target_sparsity, left)
            return add(apart, spec.target_sparsity, name="sparsity")

    def _step_of_last_update(self) -> Any:
        name = "last_mask_update_step"
        with variable_scope(self._spec.name, use_resource=self._spec.use_tpu) as scope:
            try:
                return get_variable(name, [], int32, zeros_initializer(), trainable=False)
            except ValueError:  # another Pruning has made it
                scope.reuse_variables()
                return get_variable(name, dtype=int32)

    def _sparsity_of(self, name: str) -> Any:
        target = _only(self._targets, name, "weight_sparsity_map")
        return self._sparsity if target is None else multiply(self._sparsity, div(target, self._spec.target_sparsity))

    def _updated(self, weights: Any, threshold: Any, name: str) -> tuple[Tensor, Tensor]:
        """The new threshold, and the mask of the same shape as `weights`, of which as many are 0 as the step says."""
        sparsity = self._sparsity_of(name)
        with name_scope(f"{name}_pruning_ops"):
            sizes = abs_(weights)
            number = size(sizes)
            kept = cast(round_(cast(number, float32) * (1 - sparsity)), int32)
            values, _ = top_k(reshape(sizes, [-1]), number)
            decay = self._spec.threshold_decay
            smoothed = add_n([multiply(gather(values, kept - 1), 1 - decay), multiply(threshold, decay)])
            return smoothed, cast(greater_equal(sizes, smoothed), float32)

    def _updated_by_blocks(self, weights: Any, threshold: Any) -> tuple[Tensor, Tensor]:
        """The same for blocks of a matrix; for single elements if the weights are none, or blocks are of one."""
        name, spec = weights.op.name, self._spec
        block = _only(self._block_dims, name, "block_dims_map") or [spec.block_height, spec.block_width]
        matrix = squeeze(weights)
        if matrix.shape.ndims != 2 or block == [1, 1]:
            return self._updated(weights, threshold, name)
        if spec.block_pooling_function not in ("AVG", "MAX"):
            raise ValueError(f"Unknown pooling function for block sparsity: {spec.block_pooling_function}")
        dims = matrix.shape.as_list()
        block = [dim if length == -1 else length for dim, length in zip(dims, block, strict=True)]
        with name_scope(f"{name}_pruning_ops"):
            image = reshape(abs_(matrix), [1, *dims, 1])
            pooled = pool(image, block, spec.block_pooling_function, "SAME", strides=block, name=f"{name}_pooled")
            new_threshold, of_blocks = self._updated(squeeze(pooled, [0, 3]), threshold, name)
            mask = slice_(expand_tensor(of_blocks, block), [0, 0], dims)
            return new_threshold, reshape(mask, shape(weights))

    def _add_assignments(self) -> None:
        masks, thresholds, weights = get_masks(), get_thresholds(), get_weights()
        if len(masks) != len(thresholds):
            raise ValueError(f"Number of masks {len(masks)} and number of thresholds {len(thresholds)} mismatch")
        for mask, threshold, weight in zip(masks, thresholds, weights, strict=True):
            parts = isinstance(weight, PartitionedVariable)
            new_threshold, new_mask = self._updated_by_blocks(weight.as_tensor() if parts else weight, threshold)
            self._assign_ops.append(_assigned(threshold, new_threshold))
            self._assign_ops.append(_assigned_in_parts(mask, new_mask) if parts else _assigned(mask, new_mask))

    def mask_update_op(self) -> Any:
        """The op that updates all masks and thresholds now."""
        with name_scope(self._spec.name):
            if not self._assign_ops:
                self._add_assignments()
            now = assign(self._last_update_step, self._global_step, name="last_mask_update_step_assign")
            with control_dependencies([now]), control_dependencies(self._assign_ops):
                logging.info("Updating masks.")
                return no_op("mask_update")

    def conditional_mask_update_op(self) -> Any:
        """The op that updates them if it is time to."""
        spec, step = self._spec, self._global_step
        with name_scope(spec.name):
            ends = logical_or(less_equal(step, spec.end_pruning_step), less(spec.end_pruning_step, 0))
            in_range = logical_and(greater_equal(step, spec.begin_pruning_step), ends)
            due = less_equal(add(self._last_update_step, spec.pruning_frequency), step)
            now = logical_and(in_range, due)
        return cond(now, self.mask_update_op, no_op)

    def add_pruning_summaries(self) -> None:
        """Summaries of the sparsity wanted, of each mask's, of thresholds and of the step of the last update."""
        with name_scope(f"{self._spec.name}_summaries"):
            scalar("sparsity", self._sparsity)
            scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(get_masks(), get_thresholds(), strict=False):
                scalar(f"{mask.op.name}/sparsity", zero_fraction(mask))
                scalar(f"{threshold.op.name}/threshold", threshold)

    def print_hparams(self) -> None:
        """Log the hyperparameters as JSON."""
        logging.info(self._spec.to_json())


def _validate(spec: Any) -> None:
    begin, end = spec.begin_pruning_step, spec.end_pruning_step
    if begin < 0:
        raise ValueError("Illegal value for begin_pruning_step")
    if begin >= end and end != -1:
        raise ValueError(f"Pruning must begin before it can end. begin_step={begin}, end_step={end}.")
    if spec.sparsity_function_begin_step < 0:
        raise ValueError("Illegal value for sparsity_function_begin_step")
    if spec.sparsity_function_begin_step >= spec.sparsity_function_end_step:
        raise ValueError("Sparsity function requires begin_step < end_step")
    for name in ("threshold_decay", "initial_sparsity", "target_sparsity"):
        if not 0.0 <= getattr(spec, name) < 1.0:
            raise ValueError(f"{name} must be in range [0,1)")


def _by_pattern(given: list[str], read: Any) -> list[tuple[re.Pattern[str], Any]]:
    """["pattern:value", …] as pairs."""
    pairs = [text.split(":") for text in given if text]
    return [(re.compile(pattern), read(pattern, value)) for pattern, value in pairs]


def _as_block(pattern: str, value: str) -> list[int]:
    sizes = value.split("x")
    if len(sizes) != 2:
        raise ValueError(f"Expected 2 values for block dim for {pattern}, got {sizes}")
    return [int(n) for n in sizes]


def _as_target(pattern: str, value: str) -> float:
    if float(value) >= 1.0:
        raise ValueError("Weight sparsity can not exceed 1.0")
    return float(value)


def _only(pairs: list[tuple[re.Pattern[str], Any]], name: str, where: str) -> Any:
    """The value whose pattern is in the name; None without one. Raises ValueError for several."""
    found = [value for pattern, value in pairs if pattern.search(name)]
    if len(found) > 1:
        raise ValueError(f"Multiple matches in {where} for weight {name}")
    return found[0] if found else None


def _assigned(variable: Any, value: Any) -> Any:
    return assign(variable, value, name=f"{variable.op.name}_assign")


def _assigned_in_parts(variable: Any, value: Any) -> Any:
    """A value for all parts of a variable, which is split along one axis at most."""
    shapes = [part.get_shape().as_list() for part in variable]
    whole = variable.get_shape().as_list()
    axis = next((i for i, n in enumerate(whole) if shapes[0][i] != n), 0)
    values = split(value, [each[axis] for each in shapes], axis)
    parts = [_assigned(part, each) for part, each in zip(variable, values, strict=True)]
    return group(*parts, name=f"{variable.name}_group_assign")
