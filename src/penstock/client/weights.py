"""The values of the weights of layers and cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.client.trackable import Trackable
from penstock.graph.default_session import get_default_session


class WithWeights(Trackable):
    """Methods of what has variables, in a list `weights`, with values in the default session."""

    @property
    def weights(self) -> list[Any]:
        raise NotImplementedError

    def get_weights(self) -> list[np.ndarray]:
        """The values of the weights. Raises ValueError without a default session."""
        found: list[np.ndarray] = _session().run(self.weights)
        return found

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set the values of the weights. Raises ValueError without a default session, or if shapes differ."""
        ours: Any = self.weights
        if len(weights) != len(ours):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{getattr(self, "name", "")}" with a weight list of '
                f"length {len(weights)}, but the layer was expecting {len(ours)} weights."
            )
        values = [np.asarray(value) for value in weights]
        for weight, value in zip(ours, values, strict=True):
            if tuple(weight.shape.as_list()) != value.shape:
                raise ValueError(
                    f"Layer weight shape {weight.shape} not compatible with provided weight shape {value.shape}"
                )
        session = _session()
        for weight, value in zip(ours, values, strict=True):
            weight.load(value, session)

    def count_params(self) -> int:
        """The total number of elements of the weights. Raises ValueError before there are any."""
        if not getattr(self, "built", True):
            name = getattr(self, "name", "")
            raise ValueError(f"You tried to call `count_params` on {name}, but the layer isn't built yet.")
        return sum(math.prod(weight.shape.as_list()) for weight in self.weights)


def _session() -> Any:
    session = get_default_session()
    if session is None:
        raise ValueError("The values of weights are in a session: use `with tf.Session() as session:` around this")
    return session
