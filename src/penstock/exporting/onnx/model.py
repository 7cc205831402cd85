"""`tf.to_onnx`: what a session computes, as an ONNX model."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.exporting.inference_graph import constant_graph
from penstock.exporting.names import named
from penstock.exporting.program import Program
from penstock.graph.default_session import get_default_session
from penstock.version import PENSTOCK_VERSION


@export("to_onnx")
def to_onnx(fetches: Any, feeds: Any, session: Any = None, path: Any = None) -> Any:
    """What `session.run(fetches, {feed: ...})` computes, as an ONNX model (an `onnx.ModelProto`, opset 18).

    fetches, feeds: a tensor, a list, or a dict from the names that they are to have in the model to tensors;
    otherwise names are those of the operations. A tensor may be given by its name in the graph, as to `session.run`.
    Sizes that feeds leave open are open in the model. Variables become constants of their values in `session` (the
    default one). path: a file to write it to; models over 2 GB get their weights in a file beside it.

    Raises UnimplementedError, naming all nodes that ONNX cannot express, with the lines that built them; ImportError
    without the package `onnx` (`pip install "penstock[onnx]"`).
    """
    onnx = require_onnx()
    from onnx import helper

    from penstock.exporting.onnx.lowering import IR_VERSION, OPSET, Lowering
    from penstock.exporting.onnx.types import dims_of, onnx_type

    session = session or get_default_session()
    given, wanted = (named(tensors, getattr(session, "graph", None)) for tensors in (feeds, fetches))
    graph = constant_graph(list(given.values()), list(wanted.values()), session)
    program = Program(graph)
    lowering = Lowering(program)
    inputs = []
    for name, edge in zip(given, program.feeds, strict=True):
        lowering.bind(edge, lowering.name(name))
        shape = edge.node.shapes[0]
        inputs.append(helper.make_tensor_value_info(name, onnx_type(edge.dtype), dims_of(shape, name)))
    for name in wanted:
        lowering.name(name)
    lowering.block(program.block)
    lowering.finished()
    made = lowering.graph("penstock", inputs, program.block.results, list(wanted))
    made.initializer.extend(lowering.used(made))
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="penstock", producer_version=PENSTOCK_VERSION
    )
    large = model.ByteSize() > _MOST_BYTES
    if not large:
        onnx.checker.check_model(model)
    if path is not None:
        onnx.save(model, path, save_as_external_data=large)
    return model


_MOST_BYTES = 2_000_000_000


def require_onnx() -> Any:
    """The package `onnx`; ImportError says how to install it."""
    try:
        import onnx
    except ImportError:
        raise ImportError('ONNX models need the package onnx: pip install "penstock[onnx]"') from None
    return onnx
