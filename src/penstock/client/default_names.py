"""Names of layers and cells that are given none."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from penstock.graph.graph import Graph
from penstock.graph.scopes import get_default_graph

layer_counts: WeakKeyDictionary[Graph, dict[str, int]] = WeakKeyDictionary()
"""How many layers of each graph have default names, by prefix: of tf.layers and of tf.keras together."""


def counts_of_layers() -> dict[str, int]:
    """Those of the default graph."""
    return layer_counts.setdefault(get_default_graph(), {})


def snake_case(name: str) -> str:
    """Turns "MaxPooling2D" into "max_pooling2d", and "_Add" into "private__add", since no name begins with "_".

    A word begins at a capital before or after a small letter.
    """
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{snake}" if snake.startswith("_") else snake
