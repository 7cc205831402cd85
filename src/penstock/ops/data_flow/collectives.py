"""Operations of several members: each gives a value to a group, and gets what the group makes of all of them.

The members are nodes of different sessions, or on different devices. A group is state of a container, as a queue is, so
those that are to meet must be in one container: the sum of chunk i of a large tensor is on task i, for example, and
values get there and back as they get to any other node. Values are added and
gathered in the order of the members' numbers, which nodes may have as the attribute "_member".

A member whose step ends while it waits, or whose session ends, ends the group of these members: all others get
AbortedError, now or at their next try, because they can no longer know that they are in step. New sessions form a new
group.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.node_kernel import NodeKernel, asynchronous
from penstock.graph.opdef import OpDef, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.lines import NOT_YET, Attempt, Done, Shared
from penstock.ops.data_flow.queue_elements import own
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext, SessionState

Combine = Callable[[dict[int, Any], int], Any]
"""From the members' values, by their numbers in ascending order; and the number whose value must stay as it is."""


@dataclass(eq=False)
class _Round:
    """One meeting of all members."""

    wants: int
    values: dict[int, Any] = field(default_factory=dict)
    lines: list[Any] = field(default_factory=list)
    result: Any = None
    error: Exception | None = None


class Group(Shared):
    """Members meet once for each round of an instance. A member takes part in one round of an instance at a time."""

    kind = "collective group"

    def __init__(self, name: str, line: str, size: int) -> None:
        super().__init__(name, line)
        self.size = size
        self._rounds: dict[int, _Round] = {}
        self._members: dict[SessionState, None] = {}
        self._gone: list[SessionState] = []

    def meet(
        self, member: SessionState, action: str, instance: int, number: int, value: Any, combine: Combine, done: Done
    ) -> Attempt | None:
        """Gives `value` (None: only takes part) to the round, and the combined values to `done`."""

        def give() -> _Round:
            self._admit(member)
            round = self._rounds.setdefault(instance, _Round(self.size))
            place = number if number >= 0 else len(round.values)
            if place in round.values:
                raise invalid(f"{self}: two members of instance {instance} have the number {place}")
            if len(round.values) + 1 < round.wants:
                round.values[place] = None if value is None else own(value)
            else:
                round.values[place] = value
                del self._rounds[instance]
                try:
                    with torch.inference_mode():
                        round.result = (combine(dict(sorted(round.values.items())), place),)
                except Exception as error:
                    round.error = error
                round.values = {}
                self.wake(*round.lines)
            return round

        round = self.change(give)
        line = (instance, object())
        round.lines.append(line)

        def attempt() -> Any:
            if round.error is not None:
                raise round.error
            return NOT_YET if round.result is None else round.result[0]

        def wants() -> str:
            return f"{round.wants - len(round.values)} of {round.wants} members"

        return self.submit(line, action, wants, attempt, done, lambda: self._part(f"A step was ended in {self}."))

    def set_size(self, size: int) -> None:
        """Raises InvalidArgumentError if there are members who expect another number of them."""
        if self._members and size != self.size:
            raise invalid(f"{self} has {self.size} members, not {size}")
        self.size = size

    def _admit(self, member: SessionState) -> None:
        if member in self._gone:
            raise errors.AbortedError(None, None, f"Another member has left {self}: begin anew with new sessions.")
        if member not in self._members:
            self._members[member] = None
            member.closing.call(lambda: self.change(lambda: self._left(member)))

    def _left(self, member: SessionState) -> None:
        if member in self._members:
            self._part(f"A member's session has ended, in {self}.")
        elif member in self._gone:
            self._gone.remove(member)

    def _part(self, reason: str) -> None:
        """Under the lock: none of the present members may meet again."""
        self._gone += [member for member in self._members if not member.closing.is_set()]
        self._members.clear()
        rounds, self._rounds = list(self._rounds.values()), {}
        for round in rounds:
            round.error = errors.AbortedError(None, None, reason)
            self.wake(*round.lines)

    def forget(self) -> None:
        self._rounds.clear()
        self._members.clear()
        self._gone.clear()


# --- ops ------------------------------------------------------------------------------------------------

_MERGE: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "sum": torch.add,
    "mul": torch.mul,
    "prod": torch.mul,
    "min": torch.minimum,
    "max": torch.maximum,
}


def _merged(values: dict[int, Any], kept: int, merge: str, divides: bool) -> Any:
    """All in the order of their numbers, in the memory of a value that may be overwritten."""
    if len({value.shape for value in values.values()}) > 1:
        raise invalid(f"members have different shapes: {[list(value.shape) for value in values.values()]}")
    (first, total), *others = values.items()
    is_ours = first != kept
    for number, value in others:
        total = _MERGE[merge](total, value, out=total if is_ours else value if number != kept else None)
        is_ours = True
    if not is_ours:
        total = own(total)
    if divides:
        total = total.div_(len(values)) if total.is_floating_point() else total.div(len(values), rounding_mode="trunc")
    return total


def _gathered(values: dict[int, Any], kept: int) -> Any:
    return torch.cat(list(values.values()))


def _sent(values: dict[int, Any], kept: int) -> Any:
    number, value = next((number, value) for number, value in values.items() if value is not None)
    return own(value) if number == kept else value


def _kernel(ctx: KernelContext, name: str, size: int, instance: int, number: int, combine: Combine) -> NodeKernel:
    source = ctx.node.source
    line = (source.user_line or "") if source is not None else ""
    if size < 1:
        raise invalid(f"{ctx.node.op.name}: a group of {size}")
    group = ctx.resources.lookup_or_create("", Group, name, lambda: Group(name, line, size))
    group.change(lambda: group.set_size(size))
    state, action = ctx.state, ctx.node.op.name

    def start(done: Done, value: Any = None) -> Attempt | None:
        return group.meet(state, action, instance, number, value, combine, done)

    return asynchronous(start)


_KEYS = ["group_size: int", "group_key: int", "instance_key: int"]
_HINTS = ["communication_hint: string = 'auto'", "timeout_seconds: float = 0"]


def _define(name: str, inputs: str, attrs: list[str], combine: Callable[[KernelContext], Combine]) -> OpDef:
    op = define_op(
        name, inputs, "data: T", attrs=attrs, stateful=True, work=SERIAL, waits=True, shared=True, allocates=False
    )

    @op.kernel("CPU")
    def kernel(ctx: KernelContext) -> NodeKernel:
        number = ctx.node.attrs.get("_member", -1)
        return _kernel(ctx, str(ctx["group_key"]), ctx["group_size"], ctx["instance_key"], number, combine(ctx))

    op.not_differentiable()
    return op


_NUMBERS = "T: {bfloat16, float, half, double, int32, int64}"
_define(
    "CollectiveReduce",
    "input: T",
    [_NUMBERS, *_KEYS, "merge_op: {'Min', 'Max', 'Mul', 'Add'}", "final_op: {'Id', 'Div'}",
     "subdiv_offsets: list(int)", "wait_for: list(int) = []", *_HINTS],
    lambda ctx: functools.partial(
        _merged, merge=ctx.text("merge_op").lower(), divides=ctx.text("final_op") == "Div"
    ),
).shape(shape_rules.unchanged)  # fmt: skip
_define(
    "CollectiveGather",
    "input: T",
    ["T: {float, half, double, int32, int64}", *_KEYS, "shape: shape", *_HINTS],
    lambda ctx: _gathered,
).shape(shape_rules.from_attr)
for _name, _inputs in (("CollectiveBcastSend", "input: T"), ("CollectiveBcastRecv", "")):
    _define(
        _name,
        _inputs,
        ["T: {bool, float, half, double, int32, int64}", *_KEYS, "shape: shape", *_HINTS],
        lambda ctx: _sent,
    ).shape(shape_rules.from_attr)

NCCL_ALL_REDUCE = define_op(
    "NcclAllReduce",
    "input: T",
    "data: T",
    attrs=["reduction: {'min', 'max', 'prod', 'sum'}", "T: {half, float, double, int32, int64}", "num_devices: int",
           "shared_name: string"],
    stateful=True, work=SERIAL, waits=True, shared=True, allocates=False,
)  # fmt: skip
NCCL_ALL_REDUCE.shape(shape_rules.unchanged)


@NCCL_ALL_REDUCE.gradient
def nccl_all_reduce_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    """Of a sum: each member's value is in the results of all. Raises LookupError for others."""
    if op.attrs["reduction"] != b"sum":
        raise LookupError('No gradient defined for NcclAllReduce except for reduction="sum".')
    name = op.attrs["shared_name"] + b"_grad"
    return [NCCL_ALL_REDUCE(grad, reduction="sum", num_devices=op.attrs["num_devices"], shared_name=name)]


@NCCL_ALL_REDUCE.kernel("CPU")
def _nccl_all_reduce(ctx: KernelContext) -> NodeKernel:
    combine = functools.partial(_merged, merge=ctx.text("reduction"), divides=False)
    return _kernel(ctx, f"nccl:{ctx.text('shared_name')}", ctx["num_devices"], 0, -1, combine)
