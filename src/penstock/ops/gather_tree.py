"""GatherTree: complete beams from the steps and parents of a beam search (TF: tf.contrib.seq2seq)."""

from __future__ import annotations

from typing import Any

import torch

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

GATHER_TREE = define_op(
    "GatherTree",
    "step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T",
    "beams: T",
    attrs=["T: {int32}"],
    work=128.0,
)
GATHER_TREE.not_differentiable()


@GATHER_TREE.shape
@shape_rules.of_first
def gather_tree_shape(
    c: ShapeContext, step_ids: TensorShape, parent_ids: TensorShape, lengths: TensorShape, end_token: TensorShape
) -> TensorShape:
    beams = step_ids.with_rank(3).merge_with(parent_ids.with_rank(3))
    beams[1:2].merge_with(lengths.with_rank(1))
    end_token.assert_is_compatible_with([])
    return beams


@GATHER_TREE.kernel()
def gather_tree_kernel(ctx: KernelContext) -> Kernel:
    """From the last step of each row back to the first, all beams of all rows at once."""

    def gather_tree(
        steps: torch.Tensor, parents: torch.Tensor, lengths: torch.Tensor, end_token: torch.Tensor
    ) -> torch.Tensor:
        _check(steps, parents, lengths, end_token)
        time, _, width = steps.shape
        lengths = lengths.clamp(max=time)
        beams = end_token.expand(steps.shape).clone()
        beam = torch.arange(width, device=steps.device).expand(steps.shape[1:])
        for step in range(time - 1, -1, -1):
            within = (step < lengths)[:, None]
            beams[step] = torch.where(within, steps[step].gather(1, beam), end_token)
            parent = torch.where(within, parents[step].gather(1, beam).long(), beam)
            if step:
                _check_parents(parent, step, width)
            beam = parent if step else beam
        # Everything after the first end is an end.
        ended = (beams == end_token).cumsum(0) > 0
        return torch.where(ended, end_token, beams)

    return gather_tree


def _check(steps: torch.Tensor, parents: torch.Tensor, lengths: torch.Tensor, end_token: torch.Tensor) -> None:
    if steps.ndim != 3:
        raise invalid(f"step_ids must be a 3-tensor, saw shape: {list(steps.shape)}")
    if parents.shape != steps.shape:
        raise invalid(f"step_ids.shape must match parent_ids.shape: {list(steps.shape)} vs {list(parents.shape)}")
    if list(lengths.shape) != [steps.shape[1]]:
        raise invalid(f"max_sequence_lengths must be of shape [{steps.shape[1]}], saw {list(lengths.shape)}")
    if end_token.ndim:
        raise invalid(f"end_token must be a scalar, saw shape: {list(end_token.shape)}")


def _check_parents(parent: torch.Tensor, step: int, width: int) -> None:
    bad = (parent < 0) | (parent >= width)
    if bad.any():
        row, beam = bad.nonzero()[0].tolist()
        raise invalid(f"Saw invalid parent id {parent[row, beam]} at (batch, time, beam) == ({row}, {step}, {beam})")


@export("contrib.seq2seq.gather_tree")
def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None
) -> Tensor:
    """The ids of each beam, [time, batch, beam] int32, `end_token` after its end.

    step_ids, parent_ids: the id of each beam at each step, and its parent beam in the previous step.
    max_sequence_lengths: int32 [batch], where to begin. The step raises InvalidArgumentError for an invalid parent (TF:
    tf.contrib.seq2seq.gather_tree).
    """
    return GATHER_TREE(step_ids, parent_ids, max_sequence_lengths, end_token, name=name)
