"""`Distribution`: what all distributions share (TF: tf.distributions.Distribution)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.distributions.arguments import broadcast_shape, broadcast_shape_tensor
from penstock.export import export
from penstock.graph.constants import constant_value, constant_value_as_shape
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import reshape, shape
from penstock.ops.broadcasting import broadcast_to
from penstock.ops.compare import equal
from penstock.ops.joining import concat
from penstock.ops.reduce import reduce_prod
from penstock.ops.unary import exp, log, log1p, sqrt, square
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


@export("distributions.ReparameterizationType", "contrib.distributions.ReparameterizationType")
class ReparameterizationType:
    """Whether gradients of samples reach the parameters."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = export("distributions.FULLY_REPARAMETERIZED", "contrib.distributions.FULLY_REPARAMETERIZED")(
    ReparameterizationType("FULLY_REPARAMETERIZED")
)
NOT_REPARAMETERIZED = export("distributions.NOT_REPARAMETERIZED", "contrib.distributions.NOT_REPARAMETERIZED")(
    ReparameterizationType("NOT_REPARAMETERIZED")
)


@export("distributions.Distribution", "contrib.distributions.Distribution")
class Distribution:
    """A batch of distributions. Samples are [*sample_shape, *batch_shape, *event_shape].

    A subclass defines `_sample_n(n, seed)`, which returns [n, *batch_shape, *event_shape]; one of `_log_prob` and
    `_prob`, of `_log_cdf` and `_cdf`, of `_variance` and `_stddev`; `_mean`, `_mode`, `_entropy`, `_quantile`,
    `_covariance` if they exist; and the shapes. What is not defined raises NotImplementedError.
    """

    _arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        signature = inspect.signature(cls.__init__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        self._arguments = {}
        for key, value in list(bound.arguments.items())[1:]:
            gathered = signature.parameters[key].kind is inspect.Parameter.VAR_KEYWORD
            self._arguments.update(value if gathered else {key: value})
        return self

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Any = None,
        name: str | None = None,
    ) -> None:
        """validate_args: check arguments in the step. allow_nan_stats: return NaN for undefined statistics."""
        for index, parent in enumerate(graph_parents or []):
            if parent is None or not hasattr(parent, "op"):
                raise ValueError(f"Graph parent item {index} is not a Tensor; {parent}.")
        name = name or type(self).__name__
        if not name.endswith("/"):
            with name_scope(name) as name:
                pass
        self._name: str = name
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._allow_nan_stats, self._validate_args = allow_nan_stats, validate_args
        if parameters is not None:
            kept = {k: v for k, v in parameters.items() if k not in ("self", "__class__")}
            self._arguments = kept

    # --- properties -------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name scope, with the final "/"."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        return dict(self._arguments)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """A copy with other arguments."""
        return type(self)(**{**self._arguments, **override_parameters_kwargs})

    def __str__(self) -> str:
        known = f", batch_shape={self.batch_shape}" if self.batch_shape.ndims is not None else ""
        event = f", event_shape={self.event_shape}" if self.event_shape.ndims is not None else ""
        dtype = "" if self.dtype is None else f", dtype={self.dtype.name}"
        return f'tf.distributions.{type(self).__name__}("{self.name}"{known}{event}{dtype})'

    def __repr__(self) -> str:
        dtype = None if self.dtype is None else self.dtype.name
        return (
            f"<tf.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={dtype}>"
        )

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, Tensor]:
        """The shapes of parameters for which a single sample has `sample_shape`."""
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """`param_shapes` as TensorShapes. Raises ValueError for a shape that is not known statically."""
        if not isinstance(sample_shape, TensorShape):
            sample_shape = constant_value_as_shape(_vector(sample_shape))
        if not sample_shape.is_fully_defined():
            raise ValueError("TensorShape sample_shape must be fully defined")
        found = cls._param_shapes(sample_shape.as_list())
        return {key: constant_value_as_shape(value) for key, value in found.items()}

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    # --- shapes -----------------------------------------------------------------------------------------

    def _batch_shape_tensor(self) -> Any:
        raise _missing(self, "batch_shape_tensor")

    def _batch_shape(self) -> TensorShape:
        return TensorShape(None)

    def _event_shape_tensor(self) -> Any:
        raise _missing(self, "event_shape_tensor")

    def _event_shape(self) -> TensorShape:
        return TensorShape(None)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch, int32."""
        with self._scope(name):
            known = self.batch_shape
            return _vector(known.as_list() if known.is_fully_defined() else self._batch_shape_tensor())

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch."""
        return TensorShape(self._batch_shape())

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of a single sample from one member of the batch, int32."""
        with self._scope(name):
            known = self.event_shape
            return _vector(known.as_list() if known.is_fully_defined() else self._event_shape_tensor())

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of a single sample."""
        return TensorShape(self._event_shape())

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        with self._scope(name):
            return _is_scalar(self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        with self._scope(name):
            return _is_scalar(self.batch_shape, self.batch_shape_tensor)

    @contextmanager
    def _scope(self, name: str, *values: Any) -> Iterator[str]:
        """The name scope of a method, in the distribution's own."""
        with name_scope(self._name), name_scope(name, values=list(values)) as scope:
            yield scope

    # --- samples ----------------------------------------------------------------------------------------

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        raise _missing(self, "sample_n")

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Samples, [*sample_shape, *batch_shape, *event_shape]."""
        with self._scope(name, sample_shape):
            wanted = _vector(sample_shape)
            known = constant_value(wanted)
            count = reduce_prod(wanted) if known is None else int(np.prod(known))
            drawn = self._sample_n(count, seed)
            found = reshape(drawn, concat([wanted, shape(drawn)[1:]], 0))
            found.set_shape(constant_value_as_shape(wanted).concatenate(self.batch_shape).concatenate(self.event_shape))
            return found

    # --- values -----------------------------------------------------------------------------------------

    def _call(self, name: str, value: Any, *ways: tuple[str, Any]) -> Tensor:
        """Uses the first of `ways`, (method, function of its result), whose method the subclass defines."""
        with self._scope(name, value):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            for method, function in ways:
                if hasattr(self, method):
                    found = getattr(self, method)(value)
                    return found if function is None else function(found)
        raise _missing(self, name)

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """The log of the density, or of the probability, at `value`: [*sample_shape, *batch_shape]."""
        return self._call(name, value, ("_log_prob", None), ("_prob", log))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """The density, or the probability, at `value`."""
        return self._call(name, value, ("_prob", None), ("_log_prob", exp))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """log P(X <= value)."""
        return self._call(name, value, ("_log_cdf", None), ("_cdf", log))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """P(X <= value)."""
        return self._call(name, value, ("_cdf", None), ("_log_cdf", exp))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """log P(X > value)."""
        ways = [("_log_survival_function", None), ("_survival_function", log), ("_cdf", lambda x: log1p(-x))]
        return self._call(name, value, *ways, ("_log_cdf", lambda x: log1p(-exp(x))))

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """P(X > value)."""
        ways = [("_survival_function", None), ("_log_survival_function", exp), ("_cdf", lambda x: 1.0 - x)]
        return self._call(name, value, *ways, ("_log_cdf", lambda x: 1.0 - exp(x)))

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """The x for which P(X <= x) is `value`."""
        return self._call(name, value, ("_quantile", None))

    # --- statistics -------------------------------------------------------------------------------------

    def _statistic(self, name: str, *ways: tuple[str, Any]) -> Tensor:
        with self._scope(name):
            for method, function in ways:
                if hasattr(self, method):
                    found = getattr(self, method)()
                    return found if function is None else function(found)
        raise _missing(self, name)

    def entropy(self, name: str = "entropy") -> Tensor:
        """The entropy, in nats: [*batch_shape]."""
        return self._statistic(name, ("_entropy", None))

    def mean(self, name: str = "mean") -> Tensor:
        """The mean: [*batch_shape, *event_shape], like the statistics below."""
        return self._statistic(name, ("_mean", None))

    def variance(self, name: str = "variance") -> Tensor:
        """The variance of each element."""
        return self._statistic(name, ("_variance", None), ("_stddev", square))

    def stddev(self, name: str = "stddev") -> Tensor:
        """The standard deviation of each element."""
        return self._statistic(name, ("_stddev", None), ("_variance", sqrt))

    def mode(self, name: str = "mode") -> Tensor:
        """The most likely value."""
        return self._statistic(name, ("_mode", None))

    def covariance(self, name: str = "covariance") -> Tensor:
        """The covariance of the elements of an event, [*batch_shape, n, n]."""
        return self._statistic(name, ("_covariance", None))

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Tensor:
        """The mean of -other.log_prob over this one."""
        from penstock.distributions.kullback_leibler import cross_entropy

        with self._scope(name):
            return cross_entropy(self, other, self.allow_nan_stats)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Tensor:
        """KL(self || other): see `tf.distributions.kl_divergence`."""
        from penstock.distributions.kullback_leibler import kl_divergence

        with self._scope(name):
            return kl_divergence(self, other, self.allow_nan_stats)


def _missing(distribution: Distribution, what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} is not implemented: {type(distribution).__name__}")


def _vector(sizes: Any) -> Tensor:
    """A shape as an int32 vector; a number is a shape of rank 1."""
    if isinstance(sizes, TensorShape):
        sizes = sizes.as_list()
    found = convert_to_tensor(np.array(sizes, np.int32) if isinstance(sizes, list | tuple) and not sizes else sizes)
    if found.dtype.base_dtype.name not in ("int32", "int64"):
        raise TypeError(f"a shape must be of ints, not {found.dtype.name}")
    return reshape(found, [-1]) if found.shape.ndims != 1 else found


def _is_scalar(known: TensorShape, dynamic: Any) -> Tensor:
    if known.ndims is not None:
        return convert_to_tensor(known.ndims == 0)
    return equal(shape(dynamic())[0], 0)


class Univariate(Distribution):
    """Distributions of single numbers, whose batch shape is that of their parameters broadcast: `_batch_of`."""

    _batch_of: tuple[Tensor, ...]
    _parameter_names: tuple[str, ...] = ()

    def _batch_shape(self) -> TensorShape:
        return broadcast_shape(*self._batch_of)

    def _batch_shape_tensor(self) -> Tensor:
        return broadcast_shape_tensor(*self._batch_of)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _event_shape_tensor(self) -> Any:
        return []

    def _draws(self, n: Any) -> Tensor:
        """The shape of n samples."""
        return concat([[n], self.batch_shape_tensor()], 0)

    def _everywhere(self, value: Tensor) -> Tensor:
        """`value` for each member of the batch."""
        return broadcast_to(value, self.batch_shape_tensor())

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        return {name: _vector(sample_shape) for name in cls._parameter_names}
