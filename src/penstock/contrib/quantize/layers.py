"""The layers of a graph that inference computes in integers: products with weights, and what follows them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.contrib.quantize.patterns import ANY, Found, Pattern, matches, op_of, pattern, tensor_of
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor

PRODUCTS = "Conv2D MatMul DepthwiseConv2dNative"
ADDS = "Add AddV2"
ACTIVATIONS = "Relu Relu6 Identity"


@dataclass(frozen=True)
class Layer:
    """A product, its weights, and the nodes after it as far as it has them."""

    product: Operation
    weights: Tensor | None
    activation: Operation | None
    bias_add: Operation | None = None
    bypass: Operation | None = None
    """The sum with another layer's result, before the activation."""
    bypass_after: Operation | None = None
    """The sum with another layer's result, after the activation."""


_VARIABLE = pattern("Variable VariableV2")
_PART = pattern("Identity", _VARIABLE)
_PARTS = pattern("ConcatV2", _PART, ANY, ANY)
_READ = pattern("Identity", [_PART, _PARTS, _VARIABLE])
_READ_RESOURCE = pattern("ReadVariableOp")
_FOLDED = pattern("Mul")  # weights times the scale of a folded batch normalisation
_PRODUCT = pattern(PRODUCTS, Pattern(), [_READ, _READ_RESOURCE, _FOLDED], in_any_order=True)
_DILATED = pattern("BatchToSpaceND", _PRODUCT, ANY, ANY)
_RESULT = (_DILATED, _PRODUCT)
_CORRECTED = pattern(ADDS, pattern("Mul", ANY, _RESULT, in_any_order=True), ANY, in_any_order=True)
_FOLDED_BIAS = pattern(ADDS, _CORRECTED, ANY, in_any_order=True)
_UPDATED = pattern("Identity", _FOLDED_BIAS)  # a batch normalisation that waits for its updates
_BIAS = pattern(f"{ADDS} BiasAdd", _RESULT, ANY, in_any_order=True)
_BYPASS = pattern(ADDS, [_BIAS, _FOLDED_BIAS, _UPDATED], ANY, in_any_order=True)
_ACTIVATION = pattern(ACTIVATIONS, [_BIAS, _FOLDED_BIAS, _UPDATED, _BYPASS, _PRODUCT])
_BYPASS_AFTER = pattern(ADDS, ANY, _ACTIVATION, in_any_order=True)
_SECOND_PRODUCT = pattern(PRODUCTS, _RESULT, ANY, in_any_order=True)  # of a separable convolution


def find_layers(graph: Graph) -> list[Layer]:
    """The layers of `graph`, each once, by the longest pattern that it matches."""
    ops = graph.get_operations()
    found: dict[Operation, Layer] = {}
    for match in matches([_BYPASS_AFTER], ops):
        _keep(found, match, _ACTIVATION, op_of(match, _BYPASS_AFTER))
    for match in matches([_ACTIVATION], ops):
        if not _feeds_batch_norm(match[_ACTIVATION][0]):
            _keep(found, match, _ACTIVATION)
    for match in matches([_BIAS, _FOLDED_BIAS], ops):
        product = match[_PRODUCT][0]
        end = op_of(match, _BIAS, _FOLDED_BIAS)
        found.setdefault(product, Layer(product, _weights(match), end))
    for match in matches([_SECOND_PRODUCT], ops):
        product = match[_PRODUCT][0]
        found.setdefault(product, Layer(product, _weights(match, folded=False), product))
    return list(found.values())


def _keep(found: dict[Operation, Layer], match: Found, end: Pattern, bypass_after: Operation | None = None) -> None:
    product = match[_PRODUCT][0]
    bias, bypass = op_of(match, _BIAS, _FOLDED_BIAS), op_of(match, _BYPASS)
    found.setdefault(product, Layer(product, _weights(match), match[end][0], bias, bypass, bypass_after))


def _weights(match: Found, folded: bool = True) -> Tensor | None:
    return tensor_of(match, _READ, _READ_RESOURCE, *([_FOLDED] if folded else []))


def _feeds_batch_norm(activation: Operation) -> bool:
    """Whether the node is an Identity that only leads to the statistics of a folded batch normalisation."""
    users = activation._outputs[0]._consumers
    return activation.type == "Identity" and len(users) == 1 and users[0].type in ("FusedBatchNorm", "FusedBatchNormV3")
