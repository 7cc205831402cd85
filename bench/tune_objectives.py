"""What bench/tune.py minimises: two test functions, and a model trained by Penstock on scans of digits.

A loss is the same whenever its parameters are, and so is a cost: what a trial would take, counted and not measured.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

import penstock as tf

Parameters = Mapping[str, float]


@dataclass(frozen=True)
class Objective:
    name: str
    space: dict[str, BaseDistribution]
    loss: Callable[[Parameters], float]
    target: float  # what `trials to target` counts up to
    optimum: float | None = None  # where it is known
    cost: Callable[[Parameters], float] = lambda parameters: 1.0


def branin(parameters: Parameters) -> float:
    """Branin and Hoo's function, as in section 4.1 of the paper: three minima of 0.397887."""
    x, y = parameters["x1"], parameters["x2"]
    ridge = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return ridge**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def branin_cost(parameters: Parameters) -> float:
    """From 1 in the far left to 30 in the far right: the three minima cost 1.5, 6 and 26."""
    return 30 ** ((parameters["x1"] + 5) / 15)


_HARTMANN_SCALE = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_STEEPNESS = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_HARTMANN_CENTRES = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(parameters: Parameters) -> float:
    """Hartmann's function of six dimensions: one global minimum, several others."""
    x = np.array([parameters[f"x{i}"] for i in range(1, 7)])
    distances = (_HARTMANN_STEEPNESS * (x - _HARTMANN_CENTRES) ** 2).sum(1)
    return -float(_HARTMANN_SCALE @ np.exp(-distances))


TRAINING, EPOCHS = 500, 100  # scans to train on (the other 1,297 of 1,797 validate), and most passes over them


@functools.cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Images [1797, 64] float32 in 0..1 and labels, in one random order."""
    from sklearn.datasets import load_digits

    scans = load_digits()
    order = np.random.RandomState(0).permutation(len(scans.target))
    return (scans.data / 16).astype(np.float32)[order], scans.target[order]


class LogisticRegressions:
    """Penstock's program: k models, each with its own learning rate and weight of the L2 norm, trained side by side."""

    def __init__(self, k: int) -> None:
        with tf.Graph().as_default():
            self._x = tf.placeholder(tf.float32, [None, 64])
            self._y = tf.placeholder(tf.int32, [None])
            self._rate = tf.placeholder(tf.float32, [k, 1, 1])
            self._l2 = tf.placeholder(tf.float32, [k, 1, 1])
            kernel = tf.get_variable("kernel", [k, 64, 10], initializer=tf.zeros_initializer())
            bias = tf.get_variable("bias", [k, 1, 10], initializer=tf.zeros_initializer())
            copies = tf.tile(tf.expand_dims(self._x, 0), [k, 1, 1])
            logits = tf.matmul(copies, kernel) + bias
            labels = tf.tile(tf.expand_dims(self._y, 0), [k, 1])
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            self._losses = tf.reduce_mean(entropy, 1)
            penalty = tf.reduce_sum(self._l2 * tf.square(kernel)) / 2
            slopes = tf.gradients(tf.reduce_sum(self._losses) + penalty, [kernel, bias])
            updates = [v.assign_sub(self._rate * g) for v, g in zip([kernel, bias], slopes, strict=True)]
            self._train, self._reset = tf.group(*updates), tf.global_variables_initializer()
            self._session = tf.Session()

    def validation_losses(self, rates: np.ndarray, l2: np.ndarray, batch: int, epochs: Sequence[int]) -> np.ndarray:
        """The mean cross entropies [epochs, k] of the scans kept for validation, after so many epochs each."""
        images, labels = digits()
        settings = {self._rate: rates.reshape(-1, 1, 1), self._l2: l2.reshape(-1, 1, 1)}
        random = np.random.RandomState(0)
        train = self._session.make_callable(self._train, [self._x, self._y, *settings])
        validate = self._session.make_callable(self._losses, [self._x, self._y])
        self._session.run(self._reset)
        found = []
        for epoch in range(1, max(epochs) + 1):
            order = random.permutation(TRAINING)
            for start in range(0, TRAINING - batch + 1, batch):
                chosen = order[start : start + batch]
                train(images[chosen], labels[chosen], *settings.values())
            if epoch in epochs:
                found.append(validate(images[TRAINING:], labels[TRAINING:]))
        return np.stack(found)


@functools.cache
def _one_model() -> LogisticRegressions:
    return LogisticRegressions(1)


def logistic_regression(parameters: Parameters) -> float:
    """The validation loss of a model trained as the four hyperparameters of section 4.1 say."""
    rate, l2 = (np.array([parameters[name]], np.float32) for name in ("learning_rate", "l2"))
    batch, epochs = int(parameters["batch"]), int(parameters["epochs"])
    return float(_one_model().validation_losses(rate, l2, batch, [epochs])[0, 0])


def training_cost(parameters: Parameters) -> float:
    """Scans seen, and 20 more for each step: about what a step takes beyond them. In thousands."""
    steps = TRAINING // int(parameters["batch"])
    return parameters["epochs"] * steps * (parameters["batch"] + 20) / 1000


GRID = 11, 11, 8, 10  # places of each hyperparameter: 9,680 together, as in the grid of the paper's authors


def digits_grid() -> list[float]:
    """The losses of `logistic_regression` on an even grid of its four hyperparameters."""
    rates, l2 = np.meshgrid(np.geomspace(1e-4, 1, GRID[0]), np.linspace(0, 1, GRID[1]))
    models = LogisticRegressions(rates.size)
    epochs = [round(e) for e in np.linspace(5, EPOCHS, GRID[3])]
    losses = [
        models.validation_losses(rates.astype(np.float32), l2.astype(np.float32), round(batch), epochs)
        for batch in np.linspace(20, TRAINING, GRID[2])
    ]
    return [float(loss) for loss in np.ravel(losses)]


_PLANE: dict[str, BaseDistribution] = {"x1": FloatDistribution(-5, 10), "x2": FloatDistribution(0, 15)}
_DIGITS: dict[str, BaseDistribution] = {
    "learning_rate": FloatDistribution(1e-4, 1, log=True),
    "l2": FloatDistribution(0, 1),
    "batch": IntDistribution(20, TRAINING),
    "epochs": IntDistribution(5, EPOCHS),
}
OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("Branin-Hoo", _PLANE, branin, 0.397887 + 0.01, 0.397887, branin_cost),
        Objective("Hartmann 6", {f"x{i}": FloatDistribution(0, 1) for i in range(1, 7)}, hartmann, -3.22237, -3.32237),
        Objective("Logistic regression", _DIGITS, logistic_regression, 0.16, cost=training_cost),
    )
}
