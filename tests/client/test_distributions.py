"""Distributions against closed forms, moments of samples, and gradients through them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.contrib import distributions as contrib
from penstock.session.gradient_checker import compute_gradient_error

D = tf.distributions
LGAMMA: Any = np.vectorize(math.lgamma)
ERF: Any = np.vectorize(math.erf)


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(11)
        yield


def run(found: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(found, feed)


def lbeta(x: Any) -> Any:
    return LGAMMA(x).sum(-1) - LGAMMA(np.sum(x, -1))


def integral(density: Callable[[Any], Any], low: float, high: float, count: int = 40001) -> Any:
    x = np.linspace(low, high, count)
    return np.trapezoid(density(x), x)


# Each with its density, written out, and an interval that has nearly all of it.
LINES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], float, float]] = {
    "Normal": (
        lambda: D.Normal(np.array(0.5), np.array(2.0)),
        lambda x: np.exp(-(((x - 0.5) / 2) ** 2) / 2) / (2 * np.sqrt(2 * np.pi)), -20, 20,
    ),
    "Uniform": (lambda: D.Uniform(np.array(-1.0), np.array(3.0)), lambda x: ((x >= -1) & (x < 3)) / 4, -2, 4),
    "Laplace": (
        lambda: D.Laplace(np.array(0.5), np.array(2.0)), lambda x: np.exp(-np.abs(x - 0.5) / 2) / 4, -80, 80,
    ),
    "Gamma": (
        lambda: D.Gamma(np.array(2.5), np.array(2.0)),
        lambda x: 2**2.5 * x**1.5 * np.exp(-2 * x) / math.gamma(2.5), 0, 25,
    ),
    "Exponential": (lambda: D.Exponential(np.array(1.5)), lambda x: 1.5 * np.exp(-1.5 * x), 0, 30),
    "Beta": (
        lambda: D.Beta(np.array(2.5), np.array(2.0)),
        lambda x: x**1.5 * (1 - x) * math.gamma(4.5) / math.gamma(2.5) / math.gamma(2), 1e-9, 1 - 1e-9,
    ),
    "StudentT": (
        lambda: D.StudentT(np.array(7.0), np.array(0.5), np.array(2.0)),
        lambda x: (1 + ((x - 0.5) / 2) ** 2 / 7) ** -4
        * math.gamma(4) / (math.gamma(3.5) * math.sqrt(7 * math.pi) * 2), -400, 400,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_a_distribution_on_a_line_has_its_density_and_what_follows_from_it(name: str) -> None:
    make, density, low, high = LINES[name]
    made = make()
    inside = np.array([0.1, 0.3, 0.7]) if name == "Beta" else np.array([0.2, 0.9, 2.5])
    found = run(
        {
            "log_prob": made.log_prob(inside), "prob": made.prob(inside), "cdf": made.cdf(inside),
            "log_cdf": made.log_cdf(inside), "survival": made.survival_function(inside),
            "log_survival": made.log_survival_function(inside), "mean": made.mean(), "variance": made.variance(),
            "stddev": made.stddev(), "entropy": made.entropy(),
        }
    )  # fmt: skip
    np.testing.assert_allclose(found["prob"], density(inside), rtol=1e-6)
    np.testing.assert_allclose(found["log_prob"], np.log(density(inside)), rtol=1e-6)
    below = np.array([integral(density, low, x) for x in inside])
    np.testing.assert_allclose(found["cdf"], below, rtol=1e-3)
    np.testing.assert_allclose(found["log_cdf"], np.log(below), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found["survival"], 1 - found["cdf"], rtol=1e-6)
    np.testing.assert_allclose(found["log_survival"], np.log(1 - found["cdf"]), rtol=1e-6)
    mean = integral(lambda x: x * density(x), low, high)
    variance = integral(lambda x: (x - mean) ** 2 * density(x), low, high)
    np.testing.assert_allclose([found["mean"], found["variance"]], [mean, variance], rtol=2e-3)
    np.testing.assert_allclose(found["stddev"], math.sqrt(found["variance"]))

    def surprise(x: Any) -> Any:
        p = density(x)
        return -p * np.log(np.where(p > 0, p, 1))

    np.testing.assert_allclose(found["entropy"], integral(surprise, low, high), rtol=2e-3)


@pytest.mark.parametrize("name", LINES)
def test_samples_have_the_moments_of_their_distribution_and_the_shape_asked_for(name: str) -> None:
    made = LINES[name][0]()
    drawn = made.sample([200, 100], seed=3)
    assert drawn.shape.as_list() == [200, 100] and made.sample().shape.as_list() == []
    assert made.dtype == tf.float64 and made.name.endswith("/") and made.event_shape.as_list() == []
    values, mean, stddev = run([drawn, made.mean(), made.stddev()])
    assert abs(values.mean() - mean) < 5 * stddev / np.sqrt(values.size)
    np.testing.assert_allclose(values.std(), stddev, rtol=0.08)


@pytest.mark.parametrize("name", [*LINES, "Dirichlet"])
def test_gradients_go_through_samples_and_densities_to_parameters(name: str) -> None:
    arguments: list[Any] = {
        "Normal": [0.5, 2.0], "Uniform": [-1.0, 3.0], "Laplace": [0.5, 2.0], "Gamma": [2.5, 2.0],
        "Exponential": [1.5], "Beta": [2.5, 2.0], "StudentT": [7.0, 0.5, 2.0], "Dirichlet": [[2.0, 3.0]],
    }[name]  # type: ignore[assignment]  # fmt: skip
    parameters = [tf.constant(np.array(value)) for value in arguments]
    made = getattr(D, name)(*parameters)
    assert made.reparameterization_type is D.FULLY_REPARAMETERIZED
    x = tf.constant(np.array([0.3, 0.7]))
    log_prob = tf.reduce_sum(made.log_prob(x))
    slopes = tf.gradients(tf.reduce_mean(tf.square(made.sample(20000, seed=4))), parameters)
    # What the mean of x^2 should do: finite differences of variance + mean^2.
    squares = tf.reduce_mean(made.variance() + tf.square(made.mean()))
    expected = tf.gradients(squares, parameters)
    with tf.Session() as session:
        for parameter, value in zip(parameters, arguments, strict=True):
            shape = list(np.shape(value))
            error = compute_gradient_error(parameter, shape, log_prob, [], x_init_value=np.array(value), delta=1e-5)
            assert error < 1e-5
        have, want = session.run([slopes, [0.0 if e is None else e for e in expected]])
    for one, other in zip(have, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.15, atol=0.05)


def test_normals_are_precise_in_their_tails_and_have_quantiles() -> None:
    made = D.Normal(np.array(0.0), np.array(1.0))
    x = tf.constant(np.array([-40.0, -25.0, -3.0, 0.0, 9.0]))
    log_cdf, slope, tail, quantile = run(
        [made.log_cdf(x), tf.gradients(made.log_cdf(x), x)[0], made.log_survival_function(x), made.quantile([0.1, 0.5])]
    )
    # log of erfc(z) ~ exp(-z^2) / (z sqrt(pi)) (1 - 1 / (2 z^2)), far out.
    far = np.array([40.0, 25.0])
    known = -(far**2) / 2 - np.log(far * np.sqrt(2 * np.pi)) + np.log1p(-1 / far**2 + 3 / far**4)
    np.testing.assert_allclose(log_cdf[:2], known, rtol=1e-8)
    np.testing.assert_allclose(log_cdf[2:4], np.log(0.5 * (1 + ERF(np.array([-3.0, 0]) / np.sqrt(2)))))
    np.testing.assert_allclose(slope[:2], far, rtol=2e-3)
    np.testing.assert_allclose(tail[::4], [0, log_cdf_of(-9.0)], atol=1e-12)
    np.testing.assert_allclose(quantile, [-1.2815515655446004, 0], atol=1e-12)


def log_cdf_of(x: float) -> float:
    return math.log(0.5 * math.erfc(-x / math.sqrt(2)))


def test_parameters_broadcast_to_batches() -> None:
    made = D.Normal(loc=[[0.0], [1.0]], scale=tf.constant([1.0, 2.0, 3.0]))
    assert made.batch_shape.as_list() == [2, 3]
    assert made.sample(5).shape.as_list() == [5, 2, 3]
    assert made.log_prob(0.0).shape.as_list() == [2, 3]
    assert made.entropy().shape.as_list() == [2, 3]
    unknown = tf.placeholder(tf.float32)
    late = D.Normal(unknown, 1.0)
    assert late.batch_shape.ndims is None
    size, is_scalar, drawn = run(
        [late.batch_shape_tensor(), late.is_scalar_batch(), late.sample([2])], {unknown: [[1.0, 2.0]]}
    )
    assert list(size) == [1, 2] and not is_scalar and drawn.shape == (2, 1, 2)
    assert run([late.event_shape_tensor(), late.is_scalar_event()])[1]


# --- classes and counts ---------------------------------------------------------------------------------


def test_a_bernoulli_is_given_by_log_odds_or_by_probabilities() -> None:
    p = np.array([0.1, 0.5, 0.8])
    for made in (D.Bernoulli(probs=p), D.Bernoulli(logits=np.log(p / (1 - p)), dtype=tf.int32)):
        found = run(
            [made.prob([1, 0, 1]), made.entropy(), made.mean(), made.variance(), made.mode(), made.logits, made.probs]
        )
        expected = [[0.1, 0.5, 0.8], -p * np.log(p) - (1 - p) * np.log(1 - p), p, p * (1 - p), [0, 0, 1]]
        for one, other in zip(found, [*expected, np.log(p / (1 - p)), p], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
        drawn = run(made.sample(4000, seed=2))
        assert drawn.dtype == np.int32
        np.testing.assert_allclose(drawn.mean(0), p, atol=0.04)
    for logits, probs in ((None, None), (0.0, 0.5)):
        with pytest.raises(ValueError, match="not both"):
            D.Bernoulli(logits, probs)


def test_a_categorical_draws_classes() -> None:
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    made = D.Categorical(logits=np.log(p) + 3)
    assert made.batch_shape.as_list() == [2] and made.sample([3, 4]).shape.as_list() == [3, 4, 2]
    prob, both, cdf, mode, entropy, size, drawn = run(
        [
            made.prob(1), made.log_prob([[0, 1], [2, 2], [1, 0]]), made.cdf([1, 2]), made.mode(), made.entropy(),
            made.event_size, made.sample(4000, seed=2),
        ]
    )  # fmt: skip
    np.testing.assert_allclose(prob, p[:, 1])
    np.testing.assert_allclose(both, np.log([[0.2, 0.3], [0.5, 0.1], [0.3, 0.6]]))
    np.testing.assert_allclose(cdf, [0.2, 0.9])
    np.testing.assert_array_equal(mode, [2, 0])
    np.testing.assert_allclose(entropy, -(p * np.log(p)).sum(1))
    assert size == 3 and drawn.dtype == np.int32
    for row in range(2):
        np.testing.assert_allclose(np.bincount(drawn[:, row], minlength=3) / 4000, p[row], atol=0.04)
    (slope,) = run(tf.gradients(made.log_prob(1), [made.logits]))
    np.testing.assert_allclose(slope, np.array([0, 1, 0]) - p)


def test_one_hot_classes_and_their_relaxation() -> None:
    p = np.array([0.2, 0.3, 0.5])
    made = contrib.OneHotCategorical(probs=p)
    log_prob, mode, covariance, drawn = run(
        [made.log_prob([0.0, 1, 0]), made.mode(), made.covariance(), made.sample(3000, seed=1)]
    )
    np.testing.assert_allclose(log_prob, np.log(0.3))
    np.testing.assert_array_equal(mode, [0, 0, 1])
    np.testing.assert_allclose(covariance, np.diag(p) - np.outer(p, p))
    np.testing.assert_allclose(drawn.mean(0), p, atol=0.04)
    logits = tf.constant(np.log(p))
    relaxed = contrib.RelaxedOneHotCategorical(np.array(0.5), logits=logits)
    x = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    samples = relaxed.sample(3000, seed=1)
    values, density, slope = run([samples, relaxed.prob(x), tf.gradients(samples[0, 0], logits)[0]])
    np.testing.assert_allclose(values.sum(-1), 1)
    np.testing.assert_allclose(np.bincount(values.argmax(-1)) / 3000, p, atol=0.04)
    expected = math.gamma(3) * 0.5**2 * (p * x**-0.5).sum(-1) ** -3 * (p * x**-1.5).prod(-1)
    np.testing.assert_allclose(density, expected)
    assert np.abs(slope).sum() > 0
    logs = contrib.ExpRelaxedOneHotCategorical(np.array(0.5), logits=logits)
    again, density = run([logs.sample(3000, seed=1), logs.prob(np.log(x))])
    np.testing.assert_allclose(np.exp(again), values)
    np.testing.assert_allclose(density, expected * x.prod(-1))  # dx = x dlog(x)


def test_multinomial_counts_add_up() -> None:
    p, totals = np.array([0.2, 0.3, 0.5]), np.array([4.0, 7.0])
    made = D.Multinomial(totals, probs=p)
    assert made.batch_shape.as_list() == [2] and made.event_shape.as_list() == [3]
    prob, mean = run([made.prob([[1.0, 1, 2], [0, 3, 4]]), made.mean()])
    covariance, drawn = run([made.covariance(), made.sample(3000, seed=1)])
    ways = np.array([math.factorial(4) / 2, math.factorial(7) / 6 / 24])
    np.testing.assert_allclose(prob, ways * [0.2 * 0.3 * 0.25, 0.3**3 * 0.5**4])
    np.testing.assert_allclose(mean, totals[:, None] * p)
    np.testing.assert_allclose(covariance, totals[:, None, None] * (np.diag(p) - np.outer(p, p)))
    np.testing.assert_array_equal(drawn.sum(-1), np.broadcast_to(totals, (3000, 2)))
    np.testing.assert_allclose(drawn.mean(0), totals[:, None] * p, atol=0.1)


def test_dirichlet_shares_and_counts_by_them() -> None:
    c = np.array([[1.5, 2.0, 3.5], [2.0, 2.0, 4.0]])
    total, x = c.sum(1, keepdims=True), np.array([0.2, 0.3, 0.5])
    made = D.Dirichlet(c)
    prob, mean, covariance, mode, entropy, drawn = run(
        [made.prob(x), made.mean(), made.covariance(), made.mode(), made.entropy(), made.sample(3000, seed=1)]
    )
    np.testing.assert_allclose(prob, np.exp(((c - 1) * np.log(x)).sum(1) - lbeta(c)))
    m = c / total
    spread = m[:, :, None] * np.eye(3) - m[:, :, None] * m[:, None]
    np.testing.assert_allclose(mean, m)
    np.testing.assert_allclose(covariance, spread / (1 + total)[:, :, None])
    np.testing.assert_allclose(mode, (c - 1) / (total - 3))
    np.testing.assert_allclose(entropy, -run(made.log_prob(drawn)).mean(0), atol=0.05)
    np.testing.assert_allclose(drawn.mean(0), m, atol=0.02)
    counts = D.DirichletMultinomial(np.array(5.0), c)
    some = np.array([1.0, 2.0, 2.0])
    prob, covariance, drawn = run([counts.prob(some), counts.covariance(), counts.sample(3000, seed=1)])
    np.testing.assert_allclose(prob, 30 * np.exp(lbeta(c + some) - lbeta(c)))
    np.testing.assert_allclose(covariance, (5 * (5 + total) / (1 + total))[:, :, None] * spread)
    np.testing.assert_array_equal(drawn.sum(-1), 5)
    np.testing.assert_allclose(drawn.mean(0), 5 * m, atol=0.15)
    np.testing.assert_allclose(np.var(drawn, 0), covariance[:, range(3), range(3)], rtol=0.15)


def test_total_counts_may_have_a_dimension_for_the_classes_as_in_tensorflow() -> None:
    made = D.DirichletMultinomial(np.array([[2.0], [4.0]]), np.array([[1.0, 2, 3], [2, 2, 1]]))
    assert made.batch_shape.as_list() == [2] and made.event_shape.as_list() == [3]
    mean, covariance = run([made.mean(), made.covariance()])
    np.testing.assert_allclose(mean, [[1 / 3, 2 / 3, 1.0], [1.6, 1.6, 0.8]])
    np.testing.assert_allclose(covariance[0][0], [0.3174603, -0.12698412, -0.19047618], rtol=1e-6)  # by TensorFlow
    np.testing.assert_allclose(covariance[1][2], [-0.48000005, -0.48000005, 0.9600001], rtol=1e-6)


def test_independent_normals_make_vectors() -> None:
    loc, scale = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1.0, 2.0])
    made = contrib.MultivariateNormalDiag(loc, scale)
    assert made.batch_shape.as_list() == [2] and made.event_shape.as_list() == [2]
    one = [D.Normal(loc[:, i], scale[i]) for i in range(2)]
    x = np.array([0.5, -1.0])
    found, parts, drawn = run(
        [
            [made.log_prob(x), made.entropy()],
            [[d.log_prob(x[i]) for i, d in enumerate(one)], [d.entropy() for d in one]],
            [made.sample(4000, seed=1), made.covariance(), made.kl_divergence(made)],
        ]
    )
    np.testing.assert_allclose(found, np.sum(parts, 1))
    np.testing.assert_allclose(drawn[0].mean(0), loc, atol=0.15)
    np.testing.assert_allclose(drawn[1], [np.diag(scale**2)] * 2)
    np.testing.assert_array_equal(drawn[2], [0, 0])
    with pytest.raises(ValueError, match="Must specify"):
        contrib.MultivariateNormalDiag()


# --- divergences ----------------------------------------------------------------------------------------

PAIRS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "normal": lambda: (D.Normal(np.array(0.0), np.array(2.0)), D.Normal(np.array(1.0), np.array(1.5))),
    "gamma": lambda: (D.Gamma(np.array(2.5), np.array(1.5)), D.Exponential(np.array(2.0))),
    "beta": lambda: (D.Beta(np.array(2.5), np.array(1.5)), D.Beta(np.array(1.2), np.array(2.0))),
    "dirichlet": lambda: (D.Dirichlet(np.array([2.5, 1.5, 2])), D.Dirichlet(np.array([1.0, 2.0, 3.0]))),
    "bernoulli": lambda: (D.Bernoulli(np.array(0.3)), D.Bernoulli(np.array(-1.0))),
    "categorical": lambda: (D.Categorical(np.array([0.3, 1, 2])), D.Categorical(np.array([1.0, 0.5, 0]))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_divergence_is_the_mean_of_the_log_of_the_quotient(name: str) -> None:
    a, b = PAIRS[name]()
    drawn = a.sample(20000, seed=5)
    quotient = a.log_prob(drawn) - b.log_prob(drawn)
    kl, method, crossed, entropy, zero, mean = run(
        [D.kl_divergence(a, b), a.kl_divergence(b), a.cross_entropy(b), a.entropy(), a.kl_divergence(a), quotient]
    )
    np.testing.assert_allclose(kl, mean.mean(), atol=5 * mean.std() / np.sqrt(20000))
    np.testing.assert_allclose([method, crossed - entropy, zero], [kl, kl, 0], atol=1e-9)


def test_divergences_are_registered_for_classes_and_inherited() -> None:
    class Mine(D.Normal):
        pass

    with pytest.raises(NotImplementedError, match="type Normal and distribution_b type Uniform"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Uniform())
    assert run(D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0))) == 0

    @D.RegisterKL(Mine, D.Normal)
    def of_mine(a: Any, b: Any, name: Any = None) -> Any:
        return tf.constant(np.nan)

    assert np.isnan(run(D.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))))
    with pytest.raises(errors.InvalidArgumentError, match="NaN"):
        run(D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0), allow_nan_stats=False))
    with pytest.raises(ValueError, match="already been registered"):
        D.RegisterKL(Mine, D.Normal)(of_mine)
    assert contrib.kl is D.kl_divergence


# --- arguments ------------------------------------------------------------------------------------------


def test_statistics_that_there_are_not_are_nan_or_an_error() -> None:
    t = D.StudentT([0.5, 1.5, 3.0], 0.0, 1.0)
    np.testing.assert_array_equal(run(t.mean()), [np.nan, 0, 0])
    np.testing.assert_array_equal(run(t.variance()), [np.nan, np.inf, 3])
    np.testing.assert_array_equal(run(D.Gamma([0.5, 3.0], 1.0).mode()), [np.nan, 2])
    np.testing.assert_array_equal(run(D.Beta([0.5, 2.0], 3.0).mode()), [np.nan, np.float32(1 / 3)])
    for made in (D.Gamma(0.5, 1.0, allow_nan_stats=False), D.Dirichlet([1.0, 2.0], allow_nan_stats=False)):
        with pytest.raises(errors.InvalidArgumentError, match="concentration <= 1"):
            run(made.mode())
    with pytest.raises(NotImplementedError, match="mean is not implemented: Categorical"):
        D.Categorical([0.0]).mean()


def test_arguments_are_checked_when_asked_for() -> None:
    value = tf.placeholder(tf.float32, [])
    for make in (
        lambda: D.Normal(0.0, value, validate_args=True).sample(),
        lambda: D.Exponential(value, validate_args=True).mean(),
        lambda: D.Uniform(0.0, value, validate_args=True).mean(),
        lambda: D.Bernoulli(probs=value, validate_args=True).mean(),
        lambda: D.Gamma(1.0, 1.0, validate_args=True).log_prob(value),
        lambda: D.Beta(1.0, 1.0, validate_args=True).log_prob(value),
        lambda: D.Categorical(probs=[value, 0.5], validate_args=True).probs,
        lambda: D.Multinomial(2.0, [0.0, 0.0], validate_args=True).log_prob([value, 1.0]),
    ):
        with pytest.raises(errors.InvalidArgumentError):
            run(make(), {value: -1.0})
    assert run(D.Normal(0.0, value).mean(), {value: -1.0}) == 0
    with pytest.raises(ValueError, match="floating"):
        D.Normal(0, 1)


def test_a_distribution_remembers_its_arguments() -> None:
    made = D.Normal(loc=0.0, scale=[1.0, 2.0])
    assert made.parameters == {
        "loc": 0.0, "scale": [1.0, 2.0], "validate_args": False, "allow_nan_stats": True, "name": "Normal",
    }  # fmt: skip
    other = made.copy(loc=5.0)
    assert list(run(other.mean())) == [5, 5]
    assert str(made) == 'tf.distributions.Normal("Normal/", batch_shape=(2,), event_shape=(), dtype=float32)'
    assert D.Normal(0.0, 1.0).name == "Normal_2/"
    assert made.log_prob(0.0).op.name.startswith("Normal/log_prob")
    assert D.Uniform.param_static_shapes([3]) == {"low": [3], "high": [3]}
    assert list(run(D.Normal.param_shapes([2, 3])["loc"])) == [2, 3]


def test_a_distribution_can_be_written_by_its_density() -> None:
    class Triangle(D.Distribution):
        """2 x on [0, 1]."""

        def __init__(self, name: str = "Triangle") -> None:
            super().__init__(tf.float32, D.NOT_REPARAMETERIZED, False, True, parameters=dict(locals()), name=name)

        def _batch_shape(self) -> Any:
            return tf.TensorShape([])

        def _event_shape(self) -> Any:
            return tf.TensorShape([])

        def _sample_n(self, n: Any, seed: Any = None) -> Any:
            return tf.sqrt(tf.random_uniform([n], seed=seed))

        def _prob(self, x: Any) -> Any:
            return 2 * x

        def _variance(self) -> Any:
            return tf.constant(1 / 18)

    made = Triangle()
    found = run([made.sample([1000]), made.log_prob(0.25), made.stddev()])
    assert abs(found[0].mean() - 2 / 3) < 0.03
    np.testing.assert_allclose(found[1:], [np.log(0.5), np.sqrt(1 / 18)], rtol=1e-6)
    with pytest.raises(NotImplementedError, match="cdf is not implemented: Triangle"):
        made.cdf(0.5)
    assert made.parameters == {"name": "Triangle"}


def test_what_is_not_defined_says_so_and_quantiles_at_the_ends_have_finite_gradients() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        gamma = tf.distributions.Gamma([3.0, 0.5], [2.0, 2.0], allow_nan_stats=False)
        with pytest.raises(errors.InvalidArgumentError, match="Condition x < y did not hold"):
            session.run(gamma.mode())
        counts = tf.distributions.DirichletMultinomial(4, [[1.0, 3.0]])
        np.testing.assert_allclose(session.run(counts.mean()), [[1, 3]])
        p = tf.constant([0.0, 1e-12, 0.5, 1.0])
        quantile = tf.distributions.Normal(0.0, 1.0).quantile(p)
        found, slope = session.run([quantile, tf.gradients(quantile, p)[0]])
        np.testing.assert_allclose(found, [-np.inf, -7.034484, 0, np.inf], rtol=1e-5)
        assert np.isfinite(slope).all() and slope[2] == pytest.approx(np.sqrt(2 * np.pi))


def test_softplus_makes_parameters_of_any_numbers() -> None:
    D = tf.contrib.distributions
    with tf.Graph().as_default(), tf.Session() as session:
        normal, student = D.NormalWithSoftplusScale([1.0], [-2.0]), D.StudentTWithAbsDfSoftplusScale(-5.5, 1.0, 0.0)
        beta, gamma = D.BetaWithSoftplusConcentration(-1.0, 2.0), D.GammaWithSoftplusConcentrationRate(3.0, -4.0)
        laplace, exponential = D.LaplaceWithSoftplusScale(0.0, 1.5), D.ExponentialWithSoftplusRate(0.5)
        found = [normal.scale, student.df, student.scale, beta.concentration1, beta.concentration0, gamma.rate]
        found += [laplace.scale, exponential.rate, D.BernoulliWithSigmoidProbs(2.0).probs]
        numbers = np.array([-2.0, 0.0, -1.0, 2.0, -4.0, 1.5, 0.5])
        s = np.log1p(np.exp(numbers))
        wanted = [[s[0]], 5.0, s[1], s[2], s[3], s[4], s[5], s[6], 1 / (1 + np.exp(-2.0))]
        for a, b in zip(session.run(found), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_densities_at_the_end_of_the_range_are_finite_where_they_are_one() -> None:
    gamma, beta, dirichlet = D.Gamma(1.0, [0.5, 3.0]), D.Beta(1.0, 2.0), D.Dirichlet([1.0, 1.0, 2.0])
    x = tf.constant(0.0)
    found, slope = run([gamma.log_prob(x), tf.gradients(gamma.log_prob(x), x)[0]])
    np.testing.assert_allclose(found, np.log([0.5, 3.0]), rtol=1e-6)
    np.testing.assert_allclose(slope, -3.5)
    np.testing.assert_allclose(run(beta.log_prob(0.0)), np.log(2.0), rtol=1e-6)
    np.testing.assert_allclose(run(dirichlet.prob([0.0, 0.5, 0.5])), 3.0, rtol=1e-6)
