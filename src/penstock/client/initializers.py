"""Initializers: objects that build initial values of a shape and dtype (TF: tf.initializers).

`initializer(shape, dtype=None, partition_info=None)` returns a tensor; `get_config` and `from_config` convert them to
plain data and back. Random numbers differ from TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import constant as constant_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.old_names import tell_once
from penstock.ops.filling import eye, ones as ones_tensor, zeros as zeros_tensor
from penstock.ops.random import random_normal, random_uniform, truncated_normal
from penstock.tensor.dtypes import DType, as_dtype, float32
from penstock.tensor.shapes import TensorShape


@export("initializers.Initializer")
class Initializer:
    """Base class of all initializers. A subclass names its arguments in `_fields`."""

    _fields: tuple[str, ...] = ()
    dtype: DType

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """A tensor of `shape`, and of `dtype` or otherwise the initializer's own dtype."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer, as plain data."""
        config = {field: getattr(self, field) for field in self._fields}
        return {**config, "dtype": self.dtype.name} if hasattr(self, "dtype") else config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)

    def _dtype(self, dtype: Any) -> DType:
        return self.dtype if dtype is None else as_dtype(dtype).base_dtype


def _float_dtype(dtype: Any) -> DType:
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Argument `dtype` is expected to be floating point. Received: {dtype.name}.")
    return dtype


def _dims(shape: Any, partition_info: Any = None) -> list[int]:
    """The dims that scales are computed from: for a part of a variable, those of the whole variable."""
    whole = shape if partition_info is None else partition_info.full_shape
    return [int(d) for d in TensorShape(whole).as_list()]  # type: ignore[arg-type]


# --- constants ------------------------------------------------------------------------------------------


def _filled(
    function: str, fill: Callable[..., Tensor], first: Any = None, dtype: Any = float32, shape: Any = None, **_: Any
) -> Tensor | None:
    """What an initializer that is called like a function of a shape, as before TensorFlow 1.0, returns."""
    shape = first if shape is None and isinstance(first, list | tuple | TensorShape | Tensor) else shape
    if shape is None:
        return None
    tell_once(f"{function}(shape)", f"{function}()(shape)")
    return fill(shape, as_dtype(dtype).base_dtype)


@export("zeros_initializer", "initializers.Zeros", "initializers.zeros")
class Zeros(Initializer):
    """Zeros, empty strings or False."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        filled = _filled("tf.zeros_initializer", zeros_tensor, *args, **kwargs)
        return super().__new__(cls) if filled is None else filled

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return zeros_tensor(shape, self._dtype(dtype))


@export("ones_initializer", "initializers.Ones", "initializers.ones")
class Ones(Initializer):
    """Ones, or True."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        filled = _filled("tf.ones_initializer", ones_tensor, *args, **kwargs)
        return super().__new__(cls) if filled is None else filled

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return ones_tensor(shape, self._dtype(dtype))


@export("constant_initializer", "initializers.Constant", "initializers.constant")
class Constant(Initializer):
    """The given value: a scalar that fills the shape, or a list or array whose last element is repeated.

    With `verify_shape`, raises TypeError for a value of a different shape; raises ValueError for too many elements.
    """

    _fields = ("value",)

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Invalid type for initial value: {type(value)}. Expected Python scalar, list or tuple of "
                "values, or numpy.ndarray."
            )
        self.value = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None
    ) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant_tensor(self.value, self._dtype(dtype), shape, verify_shape=verify)


@export("initializers.Identity", "initializers.identity")
class Identity(Initializer):
    """The identity matrix times `gain`; raises ValueError for a shape that is not [rows, columns]."""

    _fields = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: Any = float32) -> None:
        self.gain = gain
        self.dtype = _float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dims = _dims(shape, partition_info)
        if len(dims) != 2:
            raise ValueError(f"The tensor to initialize must be two-dimensional. Received: shape={dims}")
        matrix = eye(dims[0], dims[1], dtype=self._dtype(dtype))
        if partition_info is not None:
            matrix = get_op("Slice")(matrix, partition_info.var_offset, shape)
        return matrix if self.gain == 1 else self.gain * matrix


# --- random numbers -------------------------------------------------------------------------------------


@export("random_uniform_initializer", "initializers.RandomUniform", "initializers.random_uniform")
class RandomUniform(Initializer):
    """Uniform in [minval, maxval); `maxval` is 1 for floats."""

    _fields = ("minval", "maxval", "seed")

    def __init__(self, minval: Any = 0.0, maxval: Any = None, seed: int | None = None, dtype: Any = float32) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, self._dtype(dtype), seed=self.seed)


@export("random_normal_initializer", "initializers.RandomNormal", "initializers.random_normal")
class RandomNormal(Initializer):
    """Normal."""

    _fields = ("mean", "stddev", "seed")

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = _float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)


@export("truncated_normal_initializer", "initializers.TruncatedNormal", "initializers.truncated_normal")
class TruncatedNormal(RandomNormal):
    """Normal, within two standard deviations of the mean."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return truncated_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)


@export("uniform_unit_scaling_initializer", "initializers.UniformUnitScaling", "initializers.uniform_unit_scaling")
class UniformUnitScaling(Initializer):
    """Uniform, so that a linear layer keeps the variance of its input: within ±sqrt(3 / inputs) * factor."""

    _fields = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        self.factor, self.seed = factor, seed
        self.dtype = _float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        inputs = math.prod(_dims(shape, partition_info)[:-1])
        limit = math.sqrt(3 / max(1, inputs)) * self.factor
        return random_uniform(shape, -limit, limit, self._dtype(dtype), seed=self.seed)


_CUT_DEVIATION = 0.87962566103423978
"""The standard deviation of a standard normal truncated at two: sqrt(1 - 4 φ(2) / erf(√2))."""


@export("variance_scaling_initializer", "initializers.VarianceScaling", "initializers.variance_scaling")
class VarianceScaling(Initializer):
    """Variance `scale / n`, where n counts inputs, outputs, or is their mean (fan_in, fan_out, fan_avg).

    distribution: "truncated_normal" (or "normal"), "untruncated_normal" or "uniform".
    """

    _fields: tuple[str, ...] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = float32,
    ) -> None:
        if scale <= 0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                "Argument `distribution` should be one of ('normal', 'uniform', 'truncated_normal', "
                f"'untruncated_normal'). Received: {distribution}"
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = _float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        inputs, outputs = fans(_dims(shape, partition_info))
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        dtype = self._dtype(dtype)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        return truncated_normal(shape, 0.0, math.sqrt(variance) / _CUT_DEVIATION, dtype, seed=self.seed)


def fans(dims: list[int]) -> tuple[float, float]:
    """`(inputs, outputs)` of a layer with weights of these dims: [..., inputs, outputs], convolutions too."""
    if len(dims) < 2:
        size = dims[0] if dims else 1
        return size, size
    field = math.prod(dims[:-2])
    return field * dims[-2], field * dims[-1]


@export("glorot_uniform_initializer", "initializers.GlorotUniform", "initializers.glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Glorot and Bengio's (2010), also Xavier's: uniform within ±sqrt(6 / (inputs + outputs))."""

    _fields = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


@export("glorot_normal_initializer", "initializers.GlorotNormal", "initializers.glorot_normal")
class GlorotNormal(VarianceScaling):
    """Glorot and Bengio's (2010): a truncated normal of variance 2 / (inputs + outputs)."""

    _fields = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@export("orthogonal_initializer", "initializers.Orthogonal", "initializers.orthogonal")
class Orthogonal(Initializer):
    """Orthonormal columns (or rows, if there are fewer) times `gain`; dims before the last count as rows.

    Computed by a QR decomposition of random normals. Raises ValueError for fewer than two dims.
    """

    _fields = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        self.gain, self.seed = gain, seed
        self.dtype = _float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dims = _dims(shape)
        if len(dims) < 2:
            raise ValueError(f"The tensor to initialize must be at least two-dimensional. Received: shape={dims}")
        rows, columns = math.prod(dims[:-1]), dims[-1]
        drawn = random_normal([max(rows, columns), min(rows, columns)], dtype=self._dtype(dtype), seed=self.seed)
        q, r = get_op("Qr")(drawn)
        # The signs of the diagonal make the decomposition unique, hence q uniformly distributed.
        q = q * get_op("Sign")(get_op("MatrixDiagPart")(r))
        if rows < columns:
            q = get_op("Transpose")(q, [1, 0])
        return self.gain * get_op("Reshape")(q, dims)


# --- by family ------------------------------------------------------------------------------------------


@export("initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """LeCun's: a truncated normal of variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """LeCun's: uniform within ±sqrt(3 / inputs)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """He's: a truncated normal of variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """He's: uniform within ±sqrt(6 / inputs)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
orthogonal_initializer = Orthogonal
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
