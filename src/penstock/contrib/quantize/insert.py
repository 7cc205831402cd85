"""Roundings put behind the weights and results of layers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.contrib.graph_editor.reroute import reroute_ts
from penstock.contrib.quantize.layers import ADDS, Layer, find_layers
from penstock.contrib.quantize.ranges import quantization_step, rounded
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.logging import info
from penstock.ops.control_flow.cond import cond

SKIPPED = ("gradients/", "RMSProp/", "Adagrad/", "Const_", "HistogramSummary", "ScalarSummary")
"""Scopes whose nodes keep their inputs."""
ROUNDINGS = {"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel"}
_PASSING = {"Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max"}
_RELUS = {"Relu", "Relu6"}


@dataclass(frozen=True)
class Options:
    is_training: bool
    weight_bits: int = 8
    activation_bits: int = 8
    symmetric: bool = False
    quant_delay: int | None = None
    scope: str | None = None
    """Only nodes whose names begin with it are rounded."""
    decay: float = 0.999


def quantize(graph: Graph, options: Options) -> None:
    """Put roundings into `graph`: behind weights, activations, and sums of layers."""
    rewriter = _Rewriter(graph, options)
    for layer in find_layers(graph):
        rewriter.layer(layer)
    rewriter.see_users()
    for op in graph.get_operations():
        if rewriter.is_between(op):
            rewriter.activation(f"{op.name}/activation_{op.type}_quant", op, symmetric=False, init_min=-6.0)


@dataclass
class _Rewriter:
    graph: Graph
    options: Options
    _done: set[Operation] = field(default_factory=set)
    _users: dict[Operation, list[Operation]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scope = self.options.scope
        self._scope = f"{scope.rstrip('/')}/" if scope else ""
        self.see_users()

    def see_users(self) -> None:
        """Take note of what uses each node now: what is added later is not rerouted."""
        self._users = {}
        for op in self.graph.get_operations():
            if not op.name.startswith(SKIPPED):
                for made in dict.fromkeys(tensor.op for tensor in op._inputs):
                    self._users.setdefault(made, []).append(op)

    def layer(self, layer: Layer) -> None:
        context = _scope_of(layer.product)
        if layer.weights is not None:
            self._weights(_join(context, "weights_quant"), layer.weights.op)
        around = context if layer.bypass is None else context.rpartition("/")[0]
        if layer.activation is not None:
            self.activation(_join(around, "act_quant"), layer.activation, init_min=0.0)
            self._done.add(layer.activation)
        if layer.bypass is not None:
            assert layer.bias_add is not None
            self.activation(_join(context, "conv_quant"), layer.bias_add, users_too=True)
            self._done.add(layer.bias_add)
            if not any(user.type in {*_RELUS, "Identity"} for user in self._users.get(layer.bypass, ())):
                self.activation(_join(around, "add_quant"), layer.bypass, users_too=True)
                self._done.add(layer.bypass)
        after = layer.bypass_after
        if after is not None and not any(user.type in _RELUS for user in self._users.get(after, ())):
            self.activation(_join(_scope_of(after), "post_activation_bypass_quant"), after)
            self._done.add(after)

    def _weights(self, name: str, op: Operation) -> None:
        users = self._users.get(op, [])
        if all(user.name.startswith(self._scope) for user in users) and not _is_rounded(op):
            symmetric, bits = self.options.symmetric, self.options.weight_bits
            self._insert(name, op, users, bits, symmetric, moving=False, init_min=-6.0, narrow_range=True)

    def activation(
        self, name: str, op: Operation, init_min: float = -6.0, users_too: bool = False, symmetric: bool | None = None
    ) -> None:
        """Round the result of `op` for its users. users_too: only if these are in the scope, too."""
        users = self._users.get(op, [])
        inside = op.name.startswith(self._scope)
        if users_too:
            inside = inside and all(user.name.startswith(self._scope) for user in users)
        if inside and not _is_rounded(op):
            symmetric = self.options.symmetric if symmetric is None else symmetric
            self._insert(
                name,
                op,
                users,
                self.options.activation_bits,
                symmetric,
                moving=True,
                init_min=init_min,
                narrow_range=False,
            )

    def _insert(
        self,
        name: str,
        op: Operation,
        users: Iterable[Operation],
        bits: int,
        symmetric: bool,
        *,
        moving: bool,
        init_min: float,
        narrow_range: bool,
    ) -> None:
        within = self.graph.get_name_scope()
        if within:
            name = name.removeprefix(f"{within}/")
        value = op._outputs[0]
        made = rounded(
            value,
            name,
            self.options.is_training,
            moving=moving,
            init_min=init_min,
            decay=self.options.decay,
            bits=bits,
            symmetric=symmetric,
            narrow_range=narrow_range,
        )
        if self.options.quant_delay:
            active = get_op("GreaterEqual")(
                quantization_step(), self.options.quant_delay, name=f"{name}/activate_quant"
            )
            made = cond(active, lambda: made, lambda: value, name=f"{name}/delayed_quant")
        users = list(users)
        if users and reroute_ts([made], [value], can_modify=users) < len(users):
            raise ValueError(f"No inputs quantized for ops: {', '.join(user.name for user in users)}")

    def is_between(self, op: Operation) -> bool:
        """Whether `op` is a sum or product of rounded values whose result is not rounded yet."""
        if op in self._done or op.type not in {*ADDS.split(), "Mul"}:
            return False
        if len(op._outputs[0]._consumers) == 1 and op._outputs[0]._consumers[0].type in _RELUS:
            info("Skipping quant after %s", op.name)
            return False
        for tensor in op._inputs:
            source = tensor.op
            while source.type in _PASSING:
                source = source._inputs[0].op
            if source.type == "FakeQuantWithMinMaxVars" or source.name.find("delayed_quant/Merge") > 0:
                return True
            if source.type in {*ADDS.split(), "Mul"} and any(self.is_between(each.op) for each in source._inputs):
                return True
        return False


def _is_rounded(op: Operation) -> bool:
    """Whether the result is rounded already; bypasses are in the matches of several layers."""
    pending: list[Tensor] = [op._outputs[0]]
    while pending:
        for user in pending.pop()._consumers:
            if user.type in ROUNDINGS:
                return True
            if user.type in ("Reshape", "Identity"):
                pending += user._outputs
    return False


def _scope_of(op: Operation) -> str:
    return op.name.rpartition("/")[0]


def _join(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name
