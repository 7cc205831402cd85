"""Graphs rewritten in place for training and evaluating with rounded weights and activations (Jacob et al. 2017)."""

from __future__ import annotations

from penstock.contrib.quantize.fold import fold_batch_norms
from penstock.contrib.quantize.insert import Options, quantize
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.scopes import get_default_graph


@export("contrib.quantize.create_training_graph")
def create_training_graph(input_graph: Graph | None = None, quant_delay: int = 0) -> None:
    """Rewrite `input_graph` (default: the default graph), before gradients are taken, so that it trains with rounding.

    Weights and activations of convolutions and products of matrices are rounded to 8 bits, in ranges that are kept in
    new variables; batch normalisations are folded into the weights before them. quant_delay: after how many steps
    rounding begins. Raises ValueError if the graph has an optimizer's updates already.
    Source: TF: tf.contrib.quantize.create_training_graph.
    """
    _rewrite(input_graph, Options(is_training=True, quant_delay=quant_delay))


@export("contrib.quantize.create_eval_graph")
def create_eval_graph(input_graph: Graph | None = None) -> None:
    """Like `create_training_graph`, with ranges that stay as training left them.

    Source: TF: tf.contrib.quantize.create_eval_graph.
    """
    _rewrite(input_graph, Options(is_training=False))


@export("contrib.quantize.experimental_create_training_graph")
def experimental_create_training_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int = 0,
    freeze_bn_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """`create_training_graph` with further options.

    weight_bits, activation_bits: from 2 to 8. symmetric: ranges reach as far below zero as above. freeze_bn_delay:
    after how many steps moving averages are used instead of the batch's statistics. scope: what is rounded is in it.
    """
    options = Options(True, weight_bits, activation_bits, symmetric, quant_delay, scope)
    _rewrite(input_graph, options, freeze_bn_delay)


@export("contrib.quantize.experimental_create_eval_graph")
def experimental_create_eval_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """`create_eval_graph` with the options of `experimental_create_training_graph`."""
    _rewrite(input_graph, Options(False, weight_bits, activation_bits, symmetric, quant_delay, scope))


def _rewrite(input_graph: Graph | None, options: Options, freeze_delay: int | None = None) -> None:
    graph = get_default_graph() if input_graph is None else input_graph
    updates = {op.type for op in graph.get_operations() if "Apply" in op.type and not op.type.startswith("_")}
    if updates:
        raise ValueError(f"Training op found in graph, exiting {updates}")
    with graph.as_default():
        fold_batch_norms(graph, freeze_delay)
        quantize(graph, options)
