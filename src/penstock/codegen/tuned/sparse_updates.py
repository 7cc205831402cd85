"""Optimizers' updates of some rows, in C: one pass over each row instead of a dozen calls of torch.

The formulas are those of regions (`ops/training_updates_c.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from penstock.codegen.c.agreement import VARIATIONS, Values, changed
from penstock.codegen.c.source import Source
from penstock.codegen.tuned.autotuning import Autotuned
from penstock.codegen.tuned.objects_c import OBJECTS
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node
from penstock.ops.training_updates_c import formula_of
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32, float64, resource

TYPES = {float32: "f32", float64: "f64"}

_C = r"""
static void *NAME_call(void *self, void *const *given, i64 count) {
  const i64 rows = INT(0), columns = INT(1);
  const i64 height = INT(2);
  const INDEX *const at_rows = AT(3);
  DECLARATIONS
  for (i64 row = 0; row < rows; row++)
    if (at_rows[row] < 0 || at_rows[row] >= height) return PyLong_FromLongLong(0);
  void *const state = rows * columns > LONG ? PyEval_SaveThread() : 0;
  ONCE
  for (i64 row = 0; row < rows; row++) {
    const i64 from = at_rows[row] * columns;
    VECTOR
    for (i64 column = 0; column < columns; column++) {
      READ
      EACH
      WRITE
    }
  }
  if (state) PyEval_RestoreThread(state);
  return PyLong_FromLongLong(1);
}
struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};
"""


@functools.cache
def update_source(states: tuple[str, ...], others: tuple[str, ...], formula: tuple[str, str], types: str) -> Source:
    """`run(rows, columns, height, indices, *states, *others)` with addresses of variables [height, columns], of `grad`
    [rows, columns], and of scalars; returns 0, and changes nothing, if an index is out of range.

    types: of the numbers and of the indices, as in "f32 i64".
    """
    ctype, index = types.split()
    names = [*states, *others]
    declared = [f"{ctype} *const at_{n} = AT({4 + i});" for i, n in enumerate(names)]
    declared += [f"const {ctype} {name} = *at_{name};" for name in others if name != "grad"]
    read = [f"{ctype} {name} = at_{name}[from + column];" for name in states]
    read.append(f"const {ctype} grad = at_grad[row * columns + column];")
    write = [f"at_{name}[from + column] = {name};" for name in states]
    once, each = (text.replace("@", ctype) for text in formula)
    parts = {"DECLARATIONS": declared, "ONCE": [once], "READ": read, "EACH": [each], "WRITE": write, "INDEX": [index]}
    text = _C
    for name, lines in parts.items():
        text = text.replace(name, " ".join(lines))
    return Source.named_after_itself(text, support=OBJECTS)


def has_formula(node: Node) -> bool:
    """Whether the source supports this update."""
    return node.attrs["T"] in TYPES and not node.attrs["use_locking"] and formula_of(node) is not None


def update_rows(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of a sparse update: `fn(*variables, *others)`, others being a gradient, indices and scalars."""
    args = ctx.node.op.inputs
    names = [arg.name for arg in args]
    states = [arg.name for arg in args if arg.is_ref or arg.dtype == resource]
    count, grad_at, indices_at = len(states), names.index("grad"), names.index("indices")
    others = [name for name in names[count:] if name != "indices"]
    formula, dtype = formula_of(ctx.node), ctx.torch_dtype()
    assert formula is not None
    index = {torch.int32: "i32", torch.int64: "i64"}[ctx.torch_dtype("Tindices")]
    source = update_source(tuple(states), tuple(others), formula, f"{TYPES[ctx['T']]} {index}")
    values_at = [i for i in range(count, len(names)) if i != indices_at]

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        def run(*inputs: Any) -> Any:
            buffers = [state.read() for state in inputs[:count]]
            grad, indices = inputs[grad_at], inputs[indices_at]
            shape, rows = buffers[0].shape, indices.numel()
            if indices.dim() != 1 or grad.shape != (rows, *shape[1:]) or not shape.numel():
                return fallback(*inputs)
            grad, indices = grad.contiguous(), indices.contiguous()
            addresses = [indices.data_ptr()]
            for buffer in buffers:
                at = buffer.data_ptr()
                if buffer.shape != shape or buffer.dtype != dtype or not buffer.is_contiguous() or at in addresses:
                    return fallback(*inputs)
                addresses.append(at)
            for i in values_at:
                value = grad if i == grad_at else inputs[i]
                if i != grad_at and value.dim():
                    return fallback(*inputs)
                addresses.append(value.data_ptr())
            height = shape[0]
            return inputs[0] if function(rows, shape.numel() // height, height, *addresses) else fallback(*inputs)

        return run

    def magnitude(*inputs: Any) -> int:
        return inputs[grad_at].numel().bit_length()

    def rehearse(prepared: Kernel, members: Kernel) -> _OnCopies:
        return _OnCopies(prepared, members, count, indices_at)

    return Autotuned(source, mode, fallback, magnitude, prepare, [ctx.node], rehearse).call


class _Copy:
    """Some rows of a variable, as a variable."""

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def read(self) -> torch.Tensor:
        return self.rows


class _OnCopies:
    """The rehearsal (see `trials.py`) of an update: on copies of the rows that it changes.

    states: how many inputs are variables; index: which input has the indices.
    """

    def __init__(self, prepared: Kernel, members: Kernel, states: int, index: int) -> None:
        self.members = members
        self._prepared, self._states, self._index = prepared, states, index
        self._variables: list[Any] = []
        self._rows = torch.empty(0)
        self._old: list[Any] = []
        """The inputs, with rows of the variables before the update, and indices of these rows."""

    def compiled(self, inputs: Values) -> Values | None:
        variables, indices = inputs[: self._states], inputs[self._index]
        buffers = [variable.read() for variable in variables]
        if indices.dim() != 1 or not indices.numel() or any(not b.dim() for b in buffers):
            return None
        if int(indices.min()) < 0 or int(indices.max()) >= min(len(b) for b in buffers):
            return None
        self._rows, places = torch.unique(indices.long(), return_inverse=True)
        self._variables = list(variables)
        old = [buffer[self._rows] for buffer in buffers]
        self._old = [*old, *inputs[self._states :]]
        self._old[self._index] = places.to(indices.dtype)
        return self._run(self._prepared, self._old)

    def _run(self, kernel: Kernel, inputs: Values) -> Values:
        copies = [_Copy(rows.clone()) for rows in inputs[: self._states]]
        kernel(*copies, *inputs[self._states :])
        return [copy.rows for copy in copies]

    def made(self, result: Any) -> Values:
        return [variable.read()[self._rows] for variable in self._variables]

    def taken(self, inputs: Values) -> Values:
        return self._old

    def again(self, inputs: Values) -> Values:
        return self._run(self.members, self._old)

    def varied(self, inputs: Values) -> Iterator[Values]:
        for _ in range(VARIATIONS):
            yield self._run(self.members, changed(self._old))
