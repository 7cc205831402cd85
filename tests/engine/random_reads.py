"""Random programs of reads, writes and control edges, whose values the graph determines.

`build(tf, seed)` adds one to the default graph, by the TF 1.x API of the module `tf`; TensorFlow and Penstock get the
same. Whatever takes a value that shows a variable is ordered before or after each write of it: by data where the
dice say so, else by a control edge. So there is one right answer, whatever the threads do. Numbers are small integers
in floats, so that it is exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 2
_VARIABLES = 3


@dataclass(frozen=True)
class Value:
    """A tensor of two floats, the variables whose memory it may be, and the node of this block that made it."""

    tensor: Any
    shows: frozenset[int] = frozenset()
    node: int | None = None


@dataclass
class Made:
    """A node of a block, and those that it waits for."""

    op: Any
    before: set[int]


@dataclass
class Block:
    """Nodes that run under the same conditions. `last`: the last write of each variable, and the one before that.

    since: what has taken a value that shows the variable since then. wholes: what is more than one node.
    """

    tf: Any
    dice: random.Random
    variables: list[Any]
    values: list[Value]
    depth: int = 0
    nodes: list[Made] = field(default_factory=list)
    last: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    since: dict[int, list[int]] = field(default_factory=dict)
    wholes: set[int] = field(default_factory=set)

    # --- order ----------------------------------------------------------------------------------------

    def ancestors(self, nodes: Iterable[int | None]) -> set[int]:
        found: set[int] = set()
        pending = [node for node in nodes if node is not None]
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                pending += self.nodes[node].before
        return found

    def add(self, make: Callable[[], Any], inputs: list[Value], waits: Iterable[int | None]) -> tuple[Any, int]:
        """What `make` gives, after `waits`: control edges to those that `inputs` do not come after anyway."""
        given = {value.node for value in inputs if value.node is not None}
        known = self.ancestors(given)
        wanted = {node for node in waits if node is not None and node not in known}
        if self.nodes and self.dice.random() < 0.15:
            wanted.add(self.pick(range(len(self.nodes))))
        with self.tf.control_dependencies([self.nodes[node].op for node in sorted(wanted)]):
            made = make()
        self.nodes.append(Made(getattr(made, "op", made), given | wanted))
        return made, len(self.nodes) - 1

    def pick(self, some: Any) -> Any:
        return some[int(self.dice.random() * len(some))]

    def value(self) -> Value:
        """One of the values, rather a new one."""
        return self.values[-1 - int(self.dice.random() ** 1.5 * len(self.values))]

    def writes(self, values: list[Value]) -> list[int | None]:
        return [self.last.get(x, (None, None))[0] for value in values for x in value.shows]

    # --- statements -----------------------------------------------------------------------------------

    def run(self, count: int) -> None:
        for _ in range(count):
            roll = self.dice.random()
            if roll < 0.08 / (1 + 2 * self.depth):
                self.conditional()
            elif roll < 0.14 / (1 + 2 * self.depth):
                self.loop()
            elif roll < 0.5:
                self.write()
            elif roll < 0.65:
                self.view()
            elif self.depth or roll < 0.9 or not self.compute_before_a_write():
                self.compute()

    def compute(self) -> None:
        a, b = self.value(), self.value()
        made, node = self.add(self.arithmetic(a, b), [a, b], self.writes([a, b]))
        for x in a.shows | b.shows:
            self.since.setdefault(x, []).append(node)
        self.values.append(Value(made, frozenset(), node))

    def arithmetic(self, a: Value, b: Value) -> Callable[[], Any]:
        tf, kind = self.tf, int(self.dice.random() * 4)
        x, y = tf.reshape(a.tensor, [2]), tf.reshape(b.tensor, [2])
        return (  # the first node takes both, when both may be taken
            lambda: tf.mod(x + y, 64.0),
            lambda: tf.mod(x - y, 64.0) * 2.0,
            lambda: tf.mod(tf.maximum(x, y), 32.0) - 5.0,
            lambda: tf.reverse(tf.mod(x + y, 16.0), [0]) + 1.0,
        )[kind]

    def compute_before_a_write(self) -> bool:
        """A node that the last write of what it takes is made to wait for; False where that cannot be."""
        a, b = self.value(), self.value()
        shown = sorted(a.shows | b.shows)
        if not shown or self.last.get(shown[0], (None, None))[0] is None:
            return False
        write, earlier = self.last[shown[0]]
        waits = [earlier, *(self.last.get(x, (None, None))[0] for x in shown[1:])]
        if write in self.wholes or write in self.ancestors([a.node, b.node, *waits]):
            return False
        make = self.arithmetic(a, b)
        given = {value.node for value in (a, b) if value.node is not None}
        wanted = {node for node in waits if node is not None} - self.ancestors(given)
        with self.tf.control_dependencies([self.nodes[node].op for node in sorted(wanted)]):
            made = make()
        self.nodes.append(Made(made.op, given | wanted))
        node = len(self.nodes) - 1
        self.nodes[write].op._add_control_input(made.op)  # type: ignore[index]
        self.nodes[write].before.add(node)  # type: ignore[index]
        for x in shown[1:]:
            self.since.setdefault(x, []).append(node)
        self.values.append(Value(made, frozenset(), node))
        return True

    def view(self) -> None:
        tf, a = self.tf, self.value()
        x = self.pick(range(_VARIABLES))
        if self.dice.random() < 0.25:
            made, node = self.add(self.variables[x].read_value, [], [])
            self.values.append(Value(made, frozenset((x,)), node))
            return
        make = self.pick([
            lambda: tf.identity(a.tensor), lambda: tf.identity(a.tensor), lambda: tf.reshape(a.tensor, [1, 2]),
            lambda: tf.expand_dims(tf.reshape(a.tensor, [2]), 1), lambda: tf.stop_gradient(a.tensor),
            lambda: tf.squeeze(tf.reshape(a.tensor, [2, 1])),
        ])  # fmt: skip
        made, node = self.add(make, [a], [])
        self.values.append(Value(made, a.shows, node))

    def write(self) -> None:
        tf, a = self.tf, self.value()
        x = self.pick(range(_VARIABLES))
        variable, value = self.variables[x], tf.reshape(a.tensor, [2])
        row = int(self.dice.random() * 2)
        make = self.pick([
            lambda: tf.assign(variable, value), lambda: tf.assign_add(variable, value),
            lambda: tf.assign_sub(variable, value),
            lambda: tf.scatter_update(variable, [row], tf.gather(value, [1 - row])),
            lambda: tf.scatter_add(variable, [row, row], value + 1.0),
            lambda: tf.train.GradientDescentOptimizer(1.0).apply_gradients([(value + 0.0, variable)]),
        ])  # fmt: skip
        last = self.last.get(x, (None, None))[0]
        made, node = self.add(make, [a], [*self.writes([a]), last, *self.since.pop(x, [])])
        for y in a.shows - {x}:
            self.since.setdefault(y, []).append(node)
        self.last[x] = (node, last)
        if hasattr(made, "op"):
            self.values.append(Value(made, frozenset((x,)), node))
        else:
            self.wholes.add(node)

    # --- blocks in blocks -----------------------------------------------------------------------------

    def inside(self, *more: Value) -> Block:
        values = [Value(value.tensor, value.shows) for value in self.values]
        return Block(self.tf, random.Random(self.dice.random()), self.variables, [*values, *more], self.depth + 1)

    def after_all(self) -> Any:
        return self.tf.control_dependencies([made.op for made in self.nodes])

    def result(self) -> Value:
        """One of the values, when all has run."""
        a = self.value()
        with self.after_all():
            return Value(self.tf.identity(self.tf.reshape(a.tensor, [2])), a.shows)

    def done(self, made: Any, shows: frozenset[int]) -> None:
        """A block has run, after all before it, and before all that is to come."""
        self.nodes.append(Made(made.op, set(range(len(self.nodes)))))
        node = len(self.nodes) - 1
        self.last = dict.fromkeys(range(_VARIABLES), (node, None))
        self.wholes.add(node)
        self.since.clear()
        self.values.append(Value(made, shows, node))

    def conditional(self) -> None:
        tf, a = self.tf, self.value()
        with self.after_all():
            predicate = tf.equal(tf.mod(tf.reduce_sum(tf.reshape(a.tensor, [2])), 2.0), 0.0)
        blocks = [self.inside(), self.inside()]
        shows: set[int] = set()

        def branch(block: Block) -> Any:
            block.run(1 + int(block.dice.random() * 2))
            found = block.result()
            shows.update(found.shows)
            return found.tensor

        made = tf.cond(predicate, lambda: branch(blocks[0]), lambda: branch(blocks[1]))
        self.done(made, frozenset(shows))

    def loop(self) -> None:
        tf, a, b = self.tf, self.value(), self.value()
        most, limit = 1 + int(self.dice.random() * 3), 10.0 + int(self.dice.random() * 90)
        reads = self.dice.random() < 0.4
        inner = self.inside()
        everything = frozenset(range(_VARIABLES))
        shows = set(a.shows)
        with self.after_all():
            start, first = tf.identity(tf.constant(0)), tf.identity(tf.reshape(a.tensor, [2]))

        def goes_on(i: Any, y: Any) -> Any:
            more = i < most
            return tf.logical_and(more, tf.reduce_sum(tf.reshape(b.tensor, [2])) < limit) if reads else more

        def body(i: Any, y: Any) -> Any:
            inner.values.append(Value(y, everything))
            inner.run(1 + int(inner.dice.random() * 2))
            found = inner.result()
            shows.update(found.shows)
            with inner.after_all():
                return tf.identity(i + 1), found.tensor

        _, made = tf.while_loop(goes_on, body, [start, first])
        self.done(made, frozenset(shows))


def build(tf: Any, seed: int) -> tuple[list[Any], Any]:
    """What to fetch in each of STEPS steps, and the initializers to run before."""
    dice = random.Random(seed)
    variables = [tf.Variable([float(int(dice.random() * 9)), float(i)]) for i in range(_VARIABLES)]
    values = [Value(v.value(), frozenset((i,))) for i, v in enumerate(variables)]
    block = Block(tf, dice, variables, [Value(tf.constant([1.0, 2.0])), *values])
    block.run(4 + int(dice.random() * 7))
    with block.after_all():
        fetches = [tf.mod(v, 251.0) for v in variables]
        fetches += [tf.mod(tf.reshape(value.tensor, [2]), 251.0) for value in block.values[len(values) + 1 :]]
    return fetches, tf.group(*(v.initializer for v in variables))


def read_values(path: Path) -> dict[int, np.ndarray]:
    """What TensorFlow gives for each program: all fetches of all steps in a row (tools/make_read_values.py)."""
    with np.load(path) as kept:
        ends = np.cumsum(kept["sizes"], dtype=np.int64)
        return dict(zip(kept["seeds"].tolist(), np.split(kept["values"], ends[:-1]), strict=True))
