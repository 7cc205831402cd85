"""Counts of classes in several draws: multinomial, and with unknown probabilities Dirichlet-multinomial."""

from __future__ import annotations

from typing import Any

from penstock.distributions.arguments import checked, count_checks, floats, logits_and_probs, positive
from penstock.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import expand_dims, reshape, shape, squeeze
from penstock.ops.broadcasting import broadcast_dynamic_shape, broadcast_static_shape, broadcast_to
from penstock.ops.cast import cast
from penstock.ops.checks import assert_non_negative
from penstock.ops.diagonal import matrix_set_diag
from penstock.ops.filling import one_hot, sequence_mask
from penstock.ops.joining import concat
from penstock.ops.nn.softmax import log_softmax
from penstock.ops.random import multinomial
from penstock.ops.random_distributions import random_gamma
from penstock.ops.reduce import reduce_max, reduce_sum
from penstock.ops.special import lgamma
from penstock.ops.special_binary import lbeta
from penstock.ops.unary import log
from penstock.tensor.shapes import TensorShape


def _counted(logits: Tensor, totals: Tensor, seed: int | None) -> Tensor:
    """How often each class was drawn in totals[row] draws, [..., classes], with logits [..., classes] for each row."""
    classes = shape(logits)[-1]
    most = cast(reduce_max(totals), "int32")
    drawn = multinomial(reshape(logits, [-1, classes]), most, seed=seed, output_dtype="int32")
    wanted = sequence_mask(cast(reshape(totals, [-1]), "int32"), most, logits.dtype)
    counts = reduce_sum(one_hot(drawn, classes, dtype=logits.dtype) * expand_dims(wanted, -1), 1)
    return reshape(counts, shape(logits))


def _log_combinations(total: Tensor, counts: Tensor) -> Tensor:
    """log (total! / prod counts!)."""
    return lgamma(total + 1.0) - reduce_sum(lgamma(counts + 1.0), -1)


class _Counts(Distribution):
    """Counts [*batch, classes] of floats that add up to `total_count` [*batch]."""

    _total_count: Tensor
    _weights: Tensor  # [..., classes]: the parameter that determines how likely classes are

    @property
    def total_count(self) -> Tensor:
        return self._total_count

    def _batch_shape(self) -> TensorShape:
        return broadcast_static_shape(self._total_count.shape, self._weights.shape[:-1])

    def _batch_shape_tensor(self) -> Tensor:
        return broadcast_dynamic_shape(shape(self._total_count), shape(self._weights)[:-1])

    def _event_shape(self) -> TensorShape:
        return self._weights.shape[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._weights)[-1:]

    def _everything(self, n: Any, value: Tensor) -> Tensor:
        """`value` [..., classes] for n samples of each member of the batch."""
        return broadcast_to(value, concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0))

    def _totals(self, n: Any) -> Tensor:
        return broadcast_to(self._total_count, concat([[n], self.batch_shape_tensor()], 0))

    def _valid(self, counts: Tensor) -> Tensor:
        return checked(counts, count_checks(counts, self._total_count) if self.validate_args else [], "counts")


@export("distributions.Multinomial", "contrib.distributions.Multinomial")
class Multinomial(_Counts):
    """`total_count` draws of classes with `probs`, or with log probabilities `logits` up to a constant."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        with name_scope(name) as scope:
            self._total_count = _total(total_count, validate_args)
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args, self._total_count.dtype)
            self._weights = self._logits
            super().__init__(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def logits(self) -> Tensor:
        return self._logits

    @property
    def probs(self) -> Tensor:
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return _counted(self._everything(n, self._logits), self._totals(n), seed)

    def _log_prob(self, counts: Tensor) -> Tensor:
        counts = self._valid(counts)
        return reduce_sum(counts * log_softmax(self._logits), -1) + _log_combinations(self._total_count, counts)

    def _mean(self) -> Tensor:
        return self._probs * expand_dims(self._total_count, -1)

    def _covariance(self) -> Tensor:
        p = self._probs * expand_dims(self._total_count * 0.0 + 1.0, -1)
        total = expand_dims(expand_dims(self._total_count, -1), -1)
        return matrix_set_diag(-expand_dims(p, -1) * expand_dims(p, -2) * total, self._variance())

    def _variance(self) -> Tensor:
        return expand_dims(self._total_count, -1) * self._probs * (1.0 - self._probs)


@export("distributions.DirichletMultinomial", "contrib.distributions.DirichletMultinomial")
class DirichletMultinomial(_Counts):
    """`total_count` draws of classes whose probabilities are themselves drawn from Dirichlet(concentration)."""

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        with name_scope(name, values=[total_count, concentration]) as scope:
            found, total_count = floats(concentration=concentration, total_count=total_count)
            self._given_count = _total(total_count, validate_args)
            self._total_count = _per_row(self._given_count, found)
            self._concentration = positive(found, validate_args, "concentration")
            self._total_concentration = reduce_sum(self._concentration, -1)
            self._weights = self._concentration
            super().__init__(found.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def total_count(self) -> Tensor:
        return self._given_count

    @property
    def concentration(self) -> Tensor:
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        other = None if seed is None else seed ^ 0x5A5A5A  # a separate random stream
        # Gamma samples are probabilities up to a factor.
        drawn = random_gamma([], self._everything(n, self._concentration), dtype=self.dtype, seed=seed)
        return _counted(log(drawn), self._totals(n), other)

    def _log_prob(self, counts: Tensor) -> Tensor:
        counts = self._valid(counts)
        ordered = lbeta(self._concentration + counts) - lbeta(self._concentration)
        return ordered + _log_combinations(self._total_count, counts)

    def _share(self) -> Tensor:
        return self._concentration / expand_dims(self._total_concentration, -1)

    def _mean(self) -> Tensor:
        return expand_dims(self._total_count, -1) * self._share()

    def _spread(self) -> Tensor:
        """The ratio of the variance to that of a multinomial."""
        total = self._total_concentration
        return self._total_count * (self._total_count + total) / (1.0 + total)

    def _covariance(self) -> Tensor:
        share, spread = self._share(), expand_dims(self._spread(), -1)
        between = -expand_dims(share, -1) * expand_dims(share, -2) * expand_dims(spread, -1)
        return matrix_set_diag(between, self._variance())

    def _variance(self) -> Tensor:
        share = self._share()
        return share * (1.0 - share) * expand_dims(self._spread(), -1)


def _per_row(total: Tensor, concentration: Tensor) -> Tensor:
    """`total` without the last dimension of size one that TensorFlow allows in addition to those of `concentration`."""
    of_one_class = total.shape.ndims and total.shape.ndims == concentration.shape.ndims and total.shape.tuple[-1] == 1
    return squeeze(total, [-1]) if of_one_class else total


def _total(given: Any, validate_args: bool) -> Tensor:
    found = convert_to_tensor(given, name="total_count")
    return checked(found, [assert_non_negative(found)] if validate_args else [], "total_count")
