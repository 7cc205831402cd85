"""`InputSpec`: what a layer says of its inputs (TF: tf.layers.InputSpec)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras.nested import flat
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


@export("keras.layers.InputSpec", "layers.InputSpec")
class InputSpec:
    """The dtype, the shape, the number of axes, or sizes of some `axes` that an input must have; None is anything."""

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, Any] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype)
        self.shape = None if shape is None else tuple(TensorShape(shape).as_list())
        self.ndim = ndim if shape is None else len(self.shape)  # type: ignore[arg-type]
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}

    def __repr__(self) -> str:
        said = {name: value for name, value in vars(self).items() if value}
        return f"InputSpec({', '.join(f'{name}={value}' for name, value in said.items())})"


def check_inputs(specs: Any, tensors: list[Any], layer: str) -> None:
    """Raise ValueError, in Keras' words, if an input is not what the layer says."""
    specs = flat(specs)
    if not specs:
        return
    if len(specs) != len(tensors):
        raise ValueError(f"Layer {layer} expects {len(specs)} inputs, but it received {len(tensors)} input tensors.")
    for i, (spec, x) in enumerate(zip(specs, tensors, strict=True)):
        wrong = None if spec is None else _wrong(spec, x)
        if wrong is not None:
            raise ValueError(
                f"Input {i} of layer {layer} is incompatible with the layer: {wrong}. Full shape received: {x.shape}"
            )


def _wrong(spec: InputSpec, x: Any) -> str | None:
    if spec.dtype is not None and x.dtype.base_dtype != spec.dtype:
        return f"expected dtype={spec.dtype.name}, found dtype={x.dtype.name}"
    rank = x.shape.ndims
    if rank is None:
        return None
    if spec.ndim is not None and rank != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={rank}"
    if spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    if spec.min_ndim is not None and rank < spec.min_ndim:
        return f"expected min_ndim={spec.min_ndim}, found ndim={rank}"
    sizes = x.shape.as_list()
    wanted = {**dict(enumerate(spec.shape or ())), **spec.axes}
    for axis, size in wanted.items():
        if size is not None and sizes[axis] is not None and int(size) != sizes[axis]:
            return f"expected axis {axis} to have value {int(size)}, found {sizes[axis]}"
    return None
