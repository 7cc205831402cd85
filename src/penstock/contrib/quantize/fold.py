"""Batch normalisations folded into the weights of the products before them, as converters for inference do.

So training rounds the weights that inference will round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.contrib.graph_editor.reroute import reroute_ts
from penstock.contrib.layers.utils import smart_cond
from penstock.contrib.quantize.patterns import ANY, Found, Pattern, matches, op_of, pattern, tensor_of
from penstock.contrib.quantize.ranges import quantization_step
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op, register_gradient
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.tensor.dtypes import float32

_INPUT, _WEIGHTS, _GAMMA, _BETA, _MEAN, _VARIANCE = (Pattern() for _ in range(6))
_PRODUCT = pattern("Conv2D DepthwiseConv2dNative MatMul", _INPUT, _WEIGHTS)
_DILATED = pattern("BatchToSpaceND", _PRODUCT, ANY, ANY)
_PASSED = pattern("Identity", [_DILATED, _PRODUCT])
_RESULT = (_PASSED, _PRODUCT, _DILATED)
_RESHAPED = pattern("Reshape", _RESULT, ANY)  # a product of matrices has two dimensions, normalised are four
_NORMAL = pattern("FusedBatchNorm FusedBatchNormV3", [_RESHAPED, *_RESULT], _GAMMA, _BETA, _MEAN, _VARIANCE)
_BACK = pattern("Reshape", _NORMAL, ANY)

_UNFUSED = "BatchNorm/batchnorm"
_STATISTICS = "FoldFusedBatchNormGrad"


@dataclass(frozen=True)
class _Moving:
    """The moving average of a statistic and what it decays by."""

    average: Tensor
    decay: Tensor


@dataclass(frozen=True)
class _Match:
    """A batch normalisation after a product. In training, the statistics are the batch's, else the moving ones."""

    product: Operation
    normal: Operation
    output: Tensor
    input: Tensor
    weights: Tensor
    gamma: Tensor
    beta: Tensor
    mean: Tensor
    variance: Tensor
    dilated: Operation | None

    @property
    def training(self) -> bool:
        return bool(self.normal.attrs["is_training"])

    @property
    def epsilon(self) -> float:
        return float(self.normal.attrs["epsilon"])


def fold_batch_norms(graph: Graph, freeze_delay: int | None) -> None:
    """Fold the batch normalisations of `graph` that follow a convolution or a product of matrices.

    freeze_delay: after how many steps training uses the moving averages instead of the batch's statistics, None for
    never. Raises NotImplementedError for those that are built of single ops (`fused=False`).
    """
    for match in list(_found(graph)):
        _fold(match, freeze_delay)
    for op in graph.get_operations():
        if f"{_UNFUSED}" in op.name and not op.name.startswith("gradients/") and op.type == "Rsqrt":
            raise NotImplementedError(
                f"{op.name} is of a batch normalisation that is not one op, which cannot be folded here: "
                "build it with fused=True"
            )


# --- what is there ----------------------------------------------------------------------------------------


def _found(graph: Graph) -> Iterator[_Match]:
    seen: set[Operation] = set()
    for found in matches([_BACK, _NORMAL], graph.get_operations()):
        product = found[_PRODUCT][0]
        end = op_of(found, _BACK) if product.type == "MatMul" else found[_NORMAL][0]
        if product not in seen and end is not None and end._outputs[0]._consumers:
            seen.add(product)
            yield _matched(found, end._outputs[0])


def _matched(found: Found, output: Tensor) -> _Match:
    product, normal = found[_PRODUCT][0], found[_NORMAL][0]
    input, weights, gamma, beta, mean, variance = (
        tensor_of(found, each) for each in (_INPUT, _WEIGHTS, _GAMMA, _BETA, _MEAN, _VARIANCE)
    )
    if normal.attrs["is_training"]:
        normal._set_attr("_gradient_op_type", _STATISTICS.encode())
        mean = normal._outputs[1]
        with _scope_of(normal):
            size = get_op("Size")
            n = get_op("Cast")(size(product._outputs[0]) / size(mean), DstT=float32)
            variance = get_op("Mul")(normal._outputs[2], (n - 1.0) / n, name="Undo_Bessel_Correction")
    assert None not in (input, weights, gamma, beta, mean, variance)
    dilated = op_of(found, _DILATED)
    return _Match(product, normal, output, input, weights, gamma, beta, mean, variance, dilated)  # type: ignore[arg-type]


def _moving(statistic: Tensor) -> _Moving:
    """What the update of the moving average takes, which is (average - statistic) * decay."""
    for difference in statistic._consumers:
        if difference.type == "Sub" and difference._inputs[1] is statistic:
            for step in difference._outputs[0]._consumers:
                if step.type == "Mul" and step._inputs[0] is difference._outputs[0]:
                    return _Moving(difference._inputs[0], step._inputs[1])
    raise ValueError(f"{statistic.op.name} has no moving average, which folding a batch normalisation takes")


def _statistics_gradient(op: Operation, _: Any, by_mean: Tensor, by_variance: Tensor, *rest: Any) -> list[Any]:
    """The gradient of a batch normalisation of which only the mean and the variance of the batch are used."""
    x, size = op._inputs[0], get_op("Size")
    n = get_op("Cast")(size(x) / size(by_mean), DstT=float32)
    return [by_mean / n + 2.0 * by_variance * (x - op._outputs[1]) / (n - 1.0), None, None, None, None]


register_gradient(_STATISTICS, _statistics_gradient)


# --- what is built ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Corrections:
    """Makes weights scaled by moving averages give the results of the batch's statistics.

    The weights that are rounded change slowly so, and training can go over to the moving averages.
    """

    scale: Tensor
    reciprocal: Tensor
    offset: Tensor


def _fold(match: _Match, freeze_delay: int | None) -> None:
    reshape, multiply, add = get_op("Reshape"), get_op("Mul"), get_op("Add")
    with _scope_of(match.product) as scope:
        with name_scope(f"{scope}BatchNorm_Fold/"):
            factor = match.gamma * get_op("Rsqrt")(match.variance + match.epsilon)
            bias = get_op("Sub")(match.beta, match.mean * factor, name="bias")
            corrections = _corrections(match, freeze_delay) if match.training else None
            scale = None if corrections is None else corrections.scale
            if match.product.type == "DepthwiseConv2dNative":
                channels = match.weights.shape.as_list()[2:4]
                factor = reshape(factor, channels, name="scale_reshape")
                scale = None if scale is None else reshape(scale, channels, name="correction_reshape")
        weights = match.weights if scale is None else multiply(scale, match.weights, name="correction_mult")
        result = _again(match, multiply(weights, factor, name="mul_fold"))
        per_channel = _per_channel(match.product)
        if corrections is not None:
            result = multiply(per_channel(corrections.reciprocal), result, name="post_conv_mul")
            result = add(result, per_channel(corrections.offset), name="correction_add")
        folded = add(result, per_channel(bias), name="add_fold")
    reroute_ts([folded], [match.output])


def _corrections(match: _Match, freeze_delay: int | None) -> _Corrections:
    mean, variance = _moving(match.normal._outputs[1]), _moving(match.normal._outputs[2])
    rsqrt, multiply = get_op("Rsqrt"), get_op("Mul")
    with name_scope("batch_norm_correction"):
        by_moving = rsqrt(variance.average + match.epsilon)
        by_batch = rsqrt(match.variance + match.epsilon)
        scale = get_op("Identity")(
            get_op("RealDiv")(by_moving, by_batch, name="scale_compute"), name="correction_scale"
        )
        reciprocal = get_op("Reciprocal")(scale, name="reciprocal_compute")
        difference = match.mean * by_batch - mean.average * by_moving
        offset = multiply(match.gamma, difference, name="offset_compute")
        frozen: Any = False
        if freeze_delay is not None:
            frozen = get_op("GreaterEqual")(quantization_step(), freeze_delay, name="use_moving_average")
        for each, name in ((mean, "freeze_moving_mean"), (variance, "freeze_moving_var")):
            users = list(each.decay._consumers)
            decay = smart_cond(frozen, lambda: get_op("ZerosLike")(each.decay), lambda: each.decay, name=name)  # noqa: B023
            reroute_ts([decay], [each.decay], can_modify=users)
        ones, zeros = get_op("OnesLike"), get_op("ZerosLike")
        return _Corrections(
            scale,
            smart_cond(frozen, lambda: ones(scale), lambda: reciprocal, name="correction_recip"),
            smart_cond(frozen, lambda: offset, lambda: zeros(offset), name="correction_offset"),
        )


def _again(match: _Match, weights: Tensor) -> Tensor:
    """The product of the same input with other weights."""
    old = match.product
    name = f"{old.name.rpartition('/')[2]}_Fold"
    attrs = {key: value for key, value in old.attrs.items() if not key.startswith("_")}
    result: Tensor = get_op(old.type)(match.input, weights, name=name, **attrs)
    if match.dilated is not None:
        name = f"{match.dilated.name.rpartition('/')[2]}_Fold"
        result = get_op("BatchToSpaceND")(result, *match.dilated._inputs[1:], name=name)
    return result


def _per_channel(product: Operation) -> Any:
    """Shapes a vector so that it is added to the channels of the product's result."""
    if product.attrs.get("data_format") != b"NCHW":
        return lambda vector: vector
    return lambda vector: get_op("Reshape")(vector, [1, -1, 1, 1])


def _scope_of(op: Operation) -> name_scope:
    scope = op.name.rpartition("/")[0]
    return name_scope(f"{scope}/" if scope else None)
