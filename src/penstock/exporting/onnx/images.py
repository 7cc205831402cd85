"""Images: resized, and space turned into channels or batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.exporting.onnx.rules import First, Site, lowers

_RESIZES = {"ResizeBilinear": "linear", "ResizeNearestNeighbor": "nearest", "ResizeBicubic": "cubic"}


@lowers(*_RESIZES)
def resize(s: Site) -> Any:
    mode = _RESIZES[s.node.op.name]
    half, align = bool(s.node.attrs.get("half_pixel_centers")), bool(s["align_corners"])
    attrs: dict[str, Any] = {"mode": mode}
    attrs["coordinate_transformation_mode"] = "align_corners" if align else "half_pixel" if half else "asymmetric"
    if mode == "nearest":
        attrs["nearest_mode"] = "round_prefer_ceil" if half or align else "floor"
    if mode == "cubic":
        attrs |= {"cubic_coeff_a": -0.5, "exclude_outside": 1} if half else {"cubic_coeff_a": -0.75}
    image = s.first(0)
    kept = s.op("Slice", [s.op("Shape", [image]), s.ints(0), s.ints(2)])
    sizes = s.op("Concat", [kept, s.vector(1)], axis=0)
    if s.dtype(0) != s.node.dtypes[0]:
        image = s.cast(image, s.node.dtypes[0])
    return First(s.op("Resize", [image, "", "", sizes], **attrs))


@lowers("SpaceToDepth")
def space_to_depth(s: Site) -> Any:
    if s["data_format"] == "NCHW":
        return s.op("SpaceToDepth", [s.input(0)], blocksize=s["block_size"])
    return First(s.op("SpaceToDepth", [s.first(0)], blocksize=s["block_size"]))


@lowers("DepthToSpace")
def depth_to_space(s: Site) -> Any:
    if s["data_format"] == "NCHW":
        return s.op("DepthToSpace", [s.input(0)], blocksize=s["block_size"], mode="DCR")
    return First(s.op("DepthToSpace", [s.first(0)], blocksize=s["block_size"], mode="DCR"))


@lowers("SpaceToBatchND")
def space_to_batch(s: Site) -> Any:
    block = s.known(1, "the block's shape").tolist()
    n, rest = len(block), s.rank(0) - 1 - len(block)
    paddings, padded = s.value(2), s.input(0)
    if paddings is None or paddings.any():
        padded = s.op("Pad", [padded, _pads(s, n, rest), s.constant(0)])
    dims = _dims(s, padded, 1 + n + rest)
    parts = [dims[0]]
    for i, b in enumerate(block):
        parts += [s.op("Div", [dims[i + 1], s.ints(b)]), s.ints(b)]
    parts += dims[1 + n :]
    apart = s.op("Reshape", [padded, s.op("Concat", parts, axis=0)])
    perm = [*(2 * i + 2 for i in range(n)), 0, *(2 * i + 1 for i in range(n)), *(2 * n + 1 + i for i in range(rest))]
    turned = s.op("Transpose", [apart], perm=perm)
    shape = [s.ints(-1), *(parts[2 * i + 1] for i in range(n)), *dims[1 + n :]]
    return s.op("Reshape", [turned, s.op("Concat", shape, axis=0)])


@lowers("BatchToSpaceND")
def batch_to_space(s: Site) -> Any:
    block, crops = s.known(1, "the block's shape").tolist(), s.value(2)
    n, rest = len(block), s.rank(0) - 1 - len(block)
    dims = _dims(s, s.input(0), 1 + n + rest)
    batch = s.op("Div", [dims[0], s.ints(int(np.prod(block)))])
    apart = s.op("Reshape", [s.input(0), s.op("Concat", [s.ints(*block), batch, *dims[1:]], axis=0)])
    perm = [n]
    for i in range(n):
        perm += [n + 1 + i, i]
    perm += [2 * n + 1 + i for i in range(rest)]
    turned = s.op("Transpose", [apart], perm=perm)
    sizes = [s.op("Mul", [dims[i + 1], s.ints(b)]) for i, b in enumerate(block)]
    whole = s.op("Reshape", [turned, s.op("Concat", [batch, *sizes, *dims[1 + n :]], axis=0)])
    if crops is not None and not crops.any():
        return whole
    begins, after = _columns(s)
    ends = s.op("Sub", [s.op("Concat", sizes, axis=0), after])
    return s.op("Slice", [whole, begins, ends, s.ints(*range(1, n + 1))])


def _pads(s: Site, dims: int, rest: int) -> str:
    """The paddings of `dims` dimensions, a matrix, as ONNX has them for one more before and `rest` after them."""
    begins, ends = _columns(s)
    return str(s.op("Concat", [s.ints(0), begins, s.ints(*[0] * (rest + 1)), ends, s.ints(*[0] * rest)], axis=0))


def _columns(s: Site) -> list[str]:
    """The two columns of a matrix of paddings or crops, as vectors."""
    return [s.op("Gather", [s.int64(2), s.lowering.constant(np.array(i, np.int64))], axis=1) for i in (0, 1)]


def _dims(s: Site, name: str, rank: int) -> list[str]:
    """Each size of a tensor, as a vector of one."""
    found = s.op("Shape", [name])
    return [s.op("Slice", [found, s.ints(i), s.ints(i + 1)]) for i in range(rank)]
