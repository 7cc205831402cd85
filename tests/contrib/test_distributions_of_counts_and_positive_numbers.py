"""Distributions of tf.contrib.distributions against the values that TensorFlow 1.15.5 gives, and moments of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors

D = tf.contrib.distributions
NAN = np.nan

CASES: dict[str, tuple[dict[str, Any], list[float]]] = {
    "Binomial": ({"total_count": [4.0, 7.0], "probs": [0.3, 0.6]}, [2.0, 7.0]),
    "Geometric": ({"probs": [0.3, 0.8]}, [2.0, 0.0]),
    "NegativeBinomial": ({"total_count": [4.0, 0.5], "logits": [-0.5, 0.3]}, [2.0, 1.0]),
    "HalfNormal": ({"scale": [2.0, 0.5]}, [1.0, 0.25]),
    "InverseGamma": ({"concentration": [3.0, 1.5], "rate": [1.0, 2.0]}, [0.5, 2.0]),
    "Chi2": ({"df": [1.0, 5.0]}, [0.5, 2.0]),
    "Chi2WithAbsDf": ({"df": [-5.5, 2.0]}, [0.5, 2.0]),
    "InverseGammaWithSoftplusConcentrationRate": ({"concentration": [3.0, 1.5], "rate": [-1.0, 2.0]}, [0.5, 2.0]),
    "Cauchy": ({"loc": [1.0, 0.0], "scale": [1.0, 3.0]}, [0.5, 2.0]),
}
"""By a class: its arguments, and where its density and its cumulative probability are taken."""

RECORDED: dict[str, dict[str, list[float]]] = {
    "Binomial": {
        "log_prob": [-1.32954, -3.57578],
        "cdf": [0.9163, 1.0],
        "mean": [1.2, 4.2],
        "variance": [0.84, 1.68],
        "mode": [1.0, 4.0],
    },
    "Geometric": {
        "log_prob": [-1.91732, -0.223144],
        "cdf": [0.657, 0.8],
        "mean": [2.33333, 0.25],
        "variance": [7.77778, 0.3125],
        "mode": [0.0, 0.0],
        "entropy": [2.03621, 0.625503],
    },
    "NegativeBinomial": {
        "log_prob": [-1.54188, -1.67468],
        "cdf": [0.590809, 0.839716],
        "mean": [2.42612, 0.674929],
        "variance": [3.89764, 1.58599],
        "mode": [1.0, 0.0],
    },
    "HalfNormal": {
        "log_prob": [-1.04394, 0.342356],
        "cdf": [0.382925, 0.382925],
        "quantile": [0.637279, 0.337245],
        "mean": [1.59577, 0.398942],
        "variance": [1.45352, 0.0908451],
        "mode": [0.0, 0.0],
        "entropy": [1.41894, 0.0326442],
    },
    "InverseGamma": {
        "log_prob": [0.0794415, -1.57236],
        "cdf": [0.676676, 0.572407],
        "mean": [0.5, 4.0],
        "variance": [0.25, NAN],
        "mode": [0.25, 0.8],
        "entropy": [0.00201035, 1.98114],
    },
    "Chi2": {
        "log_prob": [-0.822365, -1.97783],
        "cdf": [0.5205, 0.150855],
        "mean": [1.0, 5.0],
        "variance": [2.0, 10.0],
        "mode": [NAN, 3.0],
        "entropy": [0.783757, 2.42309],
    },
    "Chi2WithAbsDf": {"log_prob": [-3.30727, -1.69315], "mean": [5.0, 2.0]},
    "InverseGammaWithSoftplusConcentrationRate": {"log_prob": [-2.09725, -1.55641], "mean": [0.152916, 3.03235]},
    "Cauchy": {
        "log_prob": [-1.36787, -2.61107],
        "cdf": [0.352416, 0.687167],
        "quantile": [0.0, 0.0],
        "mean": [NAN, NAN],
        "variance": [NAN, NAN],
        "mode": [1.0, 0.0],
        "entropy": [2.53102, 3.62964],
    },
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_tensorflows(name: str) -> None:
    arguments, at = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        of = getattr(D, name)(**arguments)
        where = {"log_prob": [at], "cdf": [at], "quantile": [[0.25, 0.5]]}
        found = session.run({method: getattr(of, method)(*where.get(method, [])) for method in RECORDED[name]})
        for method, wanted in RECORDED[name].items():
            np.testing.assert_allclose(found[method], wanted, rtol=2e-5, atol=1e-6, err_msg=method)
        np.testing.assert_allclose(session.run(of.prob(at)), np.exp(RECORDED[name]["log_prob"]), rtol=2e-5)


@pytest.mark.parametrize("name", ["Geometric", "NegativeBinomial", "HalfNormal", "InverseGamma", "Chi2"])
def test_samples_have_the_mean_and_the_cumulative_probabilities(name: str) -> None:
    arguments, at = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        of = getattr(D, name)(**arguments)
        sample = of.sample(20000, seed=7)
        assert sample.shape.as_list() == [20000, 2]
        drawn = session.run(sample)
    below = (drawn <= at).mean(0)
    np.testing.assert_allclose(below, RECORDED[name]["cdf"], atol=0.02)
    assert drawn.mean(0)[0] == pytest.approx(RECORDED[name]["mean"][0], rel=0.05)


def test_binomials_cannot_be_sampled_from_and_undefined_means_say_so() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(NotImplementedError, match="sample_n"):
            D.Binomial(4.0, probs=0.5).sample()
        with pytest.raises(ValueError, match="undefined for Cauchy"):
            D.Cauchy(0.0, 1.0, allow_nan_stats=False).mean()
        with pytest.raises(errors.InvalidArgumentError, match="Condition x < y did not hold"):
            session.run(D.InverseGamma(1.5, 1.0, allow_nan_stats=False).variance())
        with pytest.raises(errors.InvalidArgumentError):
            session.run(D.Binomial(4.0, probs=0.5, validate_args=True).log_prob(5.0))
