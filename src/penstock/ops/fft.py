"""Fourier transforms of the last one, two or three dimensions (TF: tf.spectral, tf.fft)."""

from __future__ import annotations

import math
from typing import Any

import torch

from penstock import errors
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.tensor.dtypes import complex64, complex128, float64, int32
from penstock.tensor.shapes import TensorShape

_COMPLEX = "Tcomplex: {complex64, complex128} = complex64"
_REAL = "Treal: {float, double} = float"


def _check(x: torch.Tensor, rank: int) -> None:
    if x.ndim < rank:
        raise errors.InvalidArgumentError(
            None, None, f"Input must have rank of at least {rank} but got: {list(x.shape)}"
        )


def _inner_size(x: Tensor, rank: int) -> Tensor:
    """The number of values that one transform covers, of the real type that belongs to the dtype of `x`."""
    real = float64 if x.dtype in (complex128, float64) else "float32"
    inner = (x.shape.as_list() if x.shape.ndims is not None else [None])[-rank:]
    known = [d for d in inner if d is not None]
    if len(known) == rank:
        return convert_to_tensor(float(math.prod(known)), dtype=real)
    sizes = get_op("StridedSlice")(
        get_op("Shape")(x),
        [-rank],
        [0],
        [1],
        begin_mask=0,
        end_mask=1,
        ellipsis_mask=0,
        new_axis_mask=0,
        shrink_axis_mask=0,
    )
    return get_op("Cast")(get_op("Prod")(sizes, [0]), DstT=real)


def _as_complex(x: Tensor, like: Tensor) -> Tensor:
    return get_op("Cast")(x, DstT=like.dtype)


def _complex_pair(rank: int) -> tuple[OpDef, OpDef]:
    suffix = "" if rank == 1 else f"{rank}D"
    dims = tuple(range(-rank, 0))
    there = define_op(f"FFT{suffix}", "input: Tcomplex", "output: Tcomplex", attrs=[_COMPLEX])
    back = define_op(f"IFFT{suffix}", "input: Tcomplex", "output: Tcomplex", attrs=[_COMPLEX])
    for op, transform in ((there, torch.fft.fftn), (back, torch.fft.ifftn)):
        op.shape(lambda c, x: x.with_rank_at_least(rank))

        @op.kernel()
        def kernel(n: Any, transform: Any = transform) -> Kernel:
            def run(x: torch.Tensor) -> torch.Tensor:
                _check(x, rank)
                return transform(x, dim=dims) if x.numel() else x.clone()

            return run

    @there.gradient
    def fft_gradient(op: Operation, grad: Tensor) -> Tensor:
        return back(grad) * _as_complex(_inner_size(grad, rank), grad)

    @back.gradient
    def ifft_gradient(op: Operation, grad: Tensor) -> Tensor:
        return there(grad) / _as_complex(_inner_size(grad, rank), grad)

    return there, back


FFT, IFFT = _complex_pair(1)
FFT2D, IFFT2D = _complex_pair(2)
FFT3D, IFFT3D = _complex_pair(3)


def _real_pair(rank: int) -> tuple[OpDef, OpDef]:
    suffix = "" if rank == 1 else f"{rank}D"
    dims = tuple(range(-rank, 0))
    there = define_op(f"RFFT{suffix}", "input: Treal, fft_length: int32", "output: Tcomplex", attrs=[_REAL, _COMPLEX])
    back = define_op(f"IRFFT{suffix}", "input: Tcomplex, fft_length: int32", "output: Treal", attrs=[_REAL, _COMPLEX])

    def shape(c: ShapeContext, x: TensorShape, length: TensorShape) -> TensorShape:
        x = x.with_rank_at_least(rank)
        length.with_rank(1)[0].assert_is_compatible_with(rank)
        if x.ndims is None:
            return x
        lengths = c.constant("fft_length")
        inner: list[Any] = [None] * rank if lengths is None else [int(v) for v in lengths]
        if c.op.type.startswith("RFFT") and inner[-1] is not None:
            inner[-1] = inner[-1] // 2 + 1 if inner[-1] else 0
        return x[:-rank].concatenate(inner)

    there.shape(shape)
    back.shape(shape)

    def lengths_of(length: torch.Tensor) -> list[int]:
        if length.shape != (rank,):
            raise errors.InvalidArgumentError(
                None, None, f"fft_length must have shape [{rank}], not {list(length.shape)}"
            )
        found = [int(v) for v in length.tolist()]
        if min(found) < 0:
            raise errors.InvalidArgumentError(None, None, f"fft_length must be at least 0, not {found}")
        return found

    def long_enough(x: torch.Tensor, needed: list[int]) -> None:
        for i, (have, wanted) in enumerate(zip(x.shape[-rank:], needed, strict=True)):
            if have and have < wanted:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Input dimension {x.ndim - rank + i} must have length of at least {wanted} but got: {have}",
                )

    @there.kernel(host=("fft_length",))
    def rfft_kernel(n: Any) -> Kernel:
        dtype = _matching(n).torch_dtype("Tcomplex")

        def run(x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
            _check(x, rank)
            lengths = lengths_of(length)
            long_enough(x, lengths)
            if not x.numel() or not min(lengths):
                half = [*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0]
                return torch.zeros((*x.shape[:-rank], *half), dtype=dtype, device=x.device)
            return torch.fft.rfftn(x, lengths, dim=dims).to(dtype)

        return run

    @back.kernel(host=("fft_length",))
    def irfft_kernel(n: Any) -> Kernel:
        dtype = _matching(n).torch_dtype("Treal")

        def run(x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
            _check(x, rank)
            lengths = lengths_of(length)
            long_enough(x, [*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0])
            if not x.numel() or not min(lengths):
                return torch.zeros((*x.shape[:-rank], *lengths), dtype=dtype, device=x.device)
            return torch.fft.irfftn(x, lengths, dim=dims).to(dtype)

        return run

    if rank == 3:  # TensorFlow has no gradients for these
        there.not_differentiable()
        back.not_differentiable()
        return there, back

    @there.gradient
    def rfft_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
        """x only meets the frequencies that are there: the inverse transform of those, and zeros for the others."""
        x, length = op.inputs
        lengths = _static(length)
        full = _padded(grad, lengths[-1] - (lengths[-1] // 2 + 1))
        spread = (IFFT if rank == 1 else IFFT2D)(full) * _as_complex(convert_to_tensor(float(math.prod(lengths))), full)
        found = get_op("Real")(spread, Tout=x.dtype)
        return [_fitted(found, x, lengths), None]

    @back.gradient
    def irfft_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
        """Frequencies that stand for two (themselves and their mirror image) count twice."""
        x, length = op.inputs
        lengths = _static(length)
        kept = lengths[-1] // 2 + 1
        weights = [1.0 if k == 0 or 2 * k == lengths[-1] else 2.0 for k in range(kept)]
        scaled = convert_to_tensor([w / math.prod(lengths) for w in weights], dtype=op.outputs[0].dtype)
        found = there(grad, length, Tcomplex=x.dtype) * _as_complex(scaled, x)
        return [_fitted(found, x, [*lengths[:-1], kept]), None]

    return there, back


def _matching(n: Any) -> Any:
    if (n["Treal"] == float64) != (n["Tcomplex"] == complex128):
        raise errors.InvalidArgumentError(
            None, None, f"A real FFT of {n['Treal'].name} and {n['Tcomplex'].name}: both must be of one precision"
        )
    return n


def _static(length: Tensor) -> list[int]:
    known = constant_value(length)
    if known is None:
        raise NotImplementedError("The gradient of a real FFT needs an fft_length that is known when it is built.")
    return [int(v) for v in known]


def _padded(x: Tensor, count: int) -> Tensor:
    rank = x.shape.ndims
    if rank is None:
        raise NotImplementedError("The gradient of a real FFT needs to know the rank of its input.")
    return get_op("Pad")(x, [[0, 0]] * (rank - 1) + [[0, count]]) if count else x


def _fitted(grad: Tensor, x: Tensor, lengths: list[int]) -> Tensor:
    """`grad`, zero for what of `x` was cut off."""
    rank = x.shape.ndims
    assert rank is not None
    more = []
    for have, used in zip(x.shape.as_list()[-len(lengths) :], lengths, strict=True):
        if have is None:
            raise NotImplementedError("The gradient of a real FFT needs to know the inner dimensions of its input.")
        more.append([0, have - used])
    if not any(after for _, after in more):
        return grad
    return get_op("Pad")(grad, [[0, 0]] * (rank - len(lengths)) + more)


RFFT, IRFFT = _real_pair(1)
RFFT2D, IRFFT2D = _real_pair(2)
RFFT3D, IRFFT3D = _real_pair(3)


# --- functions ------------------------------------------------------------------------------------------


def _complex(op: OpDef, input: Any, name: str | None) -> Tensor:
    return op(convert_to_tensor(input, preferred_dtype=complex64, name="input"), name=name)


def fft(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of the last dimension, complex64 or complex128."""
    return _complex(FFT, input, name)


def ifft(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _complex(IFFT, input, name)


def fft2d(input: Any, name: str | None = None) -> Tensor:
    """The transform of the last two dimensions."""
    return _complex(FFT2D, input, name)


def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft2d`."""
    return _complex(IFFT2D, input, name)


def fft3d(input: Any, name: str | None = None) -> Tensor:
    """The transform of the last three dimensions."""
    return _complex(FFT3D, input, name)


def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft3d`."""
    return _complex(IFFT3D, input, name)


def _real(op: OpDef, rank: int, input: Any, fft_length: Any, name: str | None) -> Tensor:
    there = op.name.startswith("RFFT")
    x = convert_to_tensor(input, preferred_dtype="float32" if there else complex64, name="input")
    double = x.dtype in (float64, complex128)
    if fft_length is None:
        sizes = get_op("Shape")(x)[-rank:]
        inner = x.shape.as_list()[-rank:] if x.shape.ndims is not None else []
        known = [d for d in inner if d is not None]
        if len(known) == rank:
            fft_length = known if there else [*known[:-1], max(0, 2 * (known[-1] - 1))]
        elif there:
            fft_length = sizes
        else:
            last = get_op("Maximum")(0, 2 * (sizes[-1:] - 1))
            fft_length = get_op("ConcatV2")([sizes[:-1], last], 0)
    length = convert_to_tensor(fft_length, dtype=int32, name="fft_length")
    attrs = (
        {"Tcomplex": complex128 if double else complex64} if there else {"Treal": "float64" if double else "float32"}
    )
    return op(x, length, name=name, **attrs)


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The transform of real values: [..., n] → [..., n // 2 + 1]. `fft_length` [1]: of so many of them."""
    return _real(RFFT, 1, input_tensor, fft_length, name)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft`; an odd length must be told."""
    return _real(IRFFT, 1, input_tensor, fft_length, name)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The transform of the last two dimensions of real values."""
    return _real(RFFT2D, 2, input_tensor, fft_length, name)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d`."""
    return _real(IRFFT2D, 2, input_tensor, fft_length, name)


def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The transform of the last three dimensions of real values."""
    return _real(RFFT3D, 3, input_tensor, fft_length, name)


def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d`."""
    return _real(IRFFT3D, 3, input_tensor, fft_length, name)
