"""`_ValidIds`: what a lookup of sparse ids begins with (`passes/fuse_lookups.py` adds it to steps)."""

from __future__ import annotations

import torch

from penstock.graph.opdef import Kernel, make_op
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.ops.sorting import distinct_elements
from penstock.runtime.kernels import KernelContext

VALID_IDS = make_op(
    "_ValidIds",
    "ids: T, indices: int64",
    "distinct: T, idx: out_idx, rows: int64",
    attrs=["T: {int32, int64}", "out_idx: {int32, int64}"],
    work=SERIAL,
)
"""Of the ids [n] that are not negative: the distinct ones, which of those each is, and its row, the first column of
indices [n, rank], or those themselves if they are a vector."""


@VALID_IDS.kernel("CPU")
def valid_ids_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.torch_dtype("out_idx")

    def valid(ids: torch.Tensor, indices: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = indices[:, 0] if indices.dim() == 2 and indices.shape[1] else indices
        if ids.dim() != 1 or rows.dim() != 1 or len(rows) < len(ids):
            raise invalid(f"ids {list(ids.shape)} and indices {list(indices.shape)} do not belong together")
        kept = (ids >= 0).nonzero().reshape(-1)
        distinct, which = distinct_elements(ids[kept])
        return distinct, which.to(dtype), rows[kept]

    return valid
