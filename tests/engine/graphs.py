"""Random graphs of all that a plan does something clever about: views, updates of variables, fusable arithmetic.

A program is a list of instructions; each takes some of the values that are there, named by how new they are, so that
any list means something, and hypothesis can shrink one. Floats stay small, hence what rounding changes does as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import penstock as tf

Shape = tuple[int, ...]
MOST_ELEMENTS = 64
FEEDS: dict[str, tuple[str, Shape]] = {"x": ("float32", (3,)), "y": ("float32", (2, 3)), "n": ("int32", (3,))}
VARIABLES: dict[str, tuple[str, Shape]] = {"v": ("float32", (3,)), "w": ("float32", (3, 3)), "k": ("int32", (3,))}


@dataclass(frozen=True)
class Do:
    """One instruction: what, on which values. `after`: the state's accesses (by how recent) that it waits for."""

    op: str
    picks: tuple[int, int, int] = (0, 0, 0)
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Program:
    """`resource`: the variables that are resources. `known`: whether the graph knows the shapes of feeds.

    `fetched`: values fetched, by how new. `late`: (update, value), by how recent: the update waits for the value,
    although it was built before.
    """

    body: tuple[Do, ...]
    resource: frozenset[str] = frozenset()
    known: bool = True
    fetched: tuple[int, ...] = (0,)
    late: tuple[tuple[int, int], ...] = ()


@dataclass
class Value:
    tensor: Any
    shape: Shape
    is_float: bool


@dataclass
class Built:
    """The graph of a program, in the default one."""

    feeds: dict[str, Any] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    accesses: list[Any] = field(default_factory=list)  # the operations that read or change variables
    updates: list[Any] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    one_order: bool = False  # whether each access of state waits for the one before

    # --- choosing -------------------------------------------------------------------------------------

    def some(self, pick: int, accept: Callable[[Value], bool]) -> Value:
        found = [value for value in reversed(self.values) if accept(value)]
        return found[pick % len(found)]

    def floats(self, pick: int, accept: Callable[[Shape], bool] = lambda shape: True) -> Value:
        return self.some(pick, lambda v: v.is_float and accept(v.shape))

    def ints(self, pick: int, accept: Callable[[Shape], bool] = lambda shape: True) -> Value:
        return self.some(pick, lambda v: not v.is_float and accept(v.shape))

    def pair(self, picks: tuple[int, ...], is_float: bool = True) -> tuple[Value, Value]:
        """Two values that broadcast."""
        a = self.some(picks[0], lambda v: v.is_float == is_float)
        return a, self.some(picks[1], lambda v: v.is_float == is_float and _broadcast(a.shape, v.shape) is not None)

    def fitted(self, pick: int, shape: Shape, is_float: bool = True) -> Any:
        """A tensor of this shape: a value, or the mean of one where none has it."""
        if any(v.shape == shape and v.is_float == is_float for v in self.values):
            return self.some(pick, lambda v: v.shape == shape and v.is_float == is_float).tensor
        return tf.reduce_mean(self.floats(pick).tensor) + np.full(shape, 0.25, np.float32)

    def variable(self, pick: int, *names: str) -> tuple[Any, Shape]:
        name = (names or tuple(VARIABLES))[pick % len(names or VARIABLES)]
        return self.variables[name], VARIABLES[name][1]

    # --- adding ---------------------------------------------------------------------------------------

    def add(self, tensor: Any, shape: Shape) -> None:
        if math.prod(shape) <= MOST_ELEMENTS:
            self.values.append(Value(tensor, shape, tensor.dtype.base_dtype == tf.float32))

    def access(self, made: Any, shape: Shape | None = None) -> None:
        """An access of state: what it gives, if anything, is a value."""
        if shape is not None:
            made = tf.identity(made) if self.one_order else made  # what a reference holds now
            self.add(made, shape)
        self.accesses.append(made if isinstance(made, tf.Operation) else tf.convert_to_tensor(made).op)

    def update(self, made: Any, shape: Shape | None = None) -> None:
        self.updates.append(made if isinstance(made, tf.Operation) else tf.convert_to_tensor(made).op)
        self.access(made, shape)


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


# --- instructions ---------------------------------------------------------------------------------------

Picks = tuple[int, int, int]
OPS: dict[str, Callable[[Built, Picks], None]] = {}


def _op(fn: Callable[[Built, Picks], None]) -> Callable[[Built, Picks], None]:
    OPS[fn.__name__.strip("_")] = fn
    return fn


def _unary(**functions: Callable[[Any], Any]) -> None:
    for name, function in functions.items():

        def build(b: Built, p: Picks, function: Callable[[Any], Any] = function) -> None:
            a = b.floats(p[0])
            b.add(function(a.tensor), a.shape)

        OPS[name] = build


def _binary(is_float: bool, **functions: Callable[[Any, Any], Any]) -> None:
    for name, function in functions.items():

        def build(b: Built, p: Picks, function: Callable[[Any, Any], Any] = function) -> None:
            x, y = b.pair(p, is_float)
            shape = _broadcast(x.shape, y.shape)
            assert shape is not None
            b.add(function(x.tensor, y.tensor), shape)

        OPS[name] = build


_unary(
    tanh=tf.tanh, sin=tf.sin, sigmoid=tf.sigmoid, relu=tf.nn.relu, negative=tf.negative, absolute=tf.abs,
    damped=lambda a: tf.exp(-tf.abs(a)), identity=tf.identity, stop=tf.stop_gradient, scaled=lambda a: a * 0.75 + 0.125,
    squared=lambda a: tf.tanh(tf.square(a)), clipped=lambda a: tf.clip_by_value(a, -0.5, 0.5), halved=lambda a: a / 2.0,
    nothing=lambda a: a + 0.0, times_one=lambda a: a * 1.0, twice_negative=lambda a: tf.negative(-a),
    arctangent=tf.atan, error=tf.erfc, area=tf.asinh, checked=lambda a: tf.check_numerics(a, "x"),
    like_itself=lambda a: tf.reshape(tf.atan(a), tf.shape(a)),
    times_its_ones=lambda a: tf.sinh(tf.tanh(a)) * tf.fill(tf.shape(a), 1.0),
)  # fmt: skip
_binary(
    True,
    mean=lambda a, b: (a + b) * 0.5,
    difference=lambda a, b: (a - b) * 0.5,
    gate=lambda a, b: a * tf.tanh(b),
    maximum=tf.maximum,
    minimum=tf.minimum,
    ratio=lambda a, b: a / (1.0 + tf.abs(b)),
    direction=lambda a, b: tf.atan2(a, b + 4.0),
)
_binary(
    False,
    int_add=lambda a, b: (a + b) % 7,
    int_times=lambda a, b: (a * b) % 7,
    int_minus=lambda a, b: (a - b) % 7,
    int_divided=lambda a, b: a // (tf.abs(b) + 1),
    int_least=tf.minimum,
)


@_op
def chosen(b: Built, p: Picks) -> None:
    x, y = b.pair(p[:2], is_float=False)
    shape = _broadcast(x.shape, y.shape)
    a = b.floats(p[2], lambda s: s == shape) if any(v.is_float and v.shape == shape for v in b.values) else None
    if a is not None:
        b.add(tf.where(tf.less(x.tensor, y.tensor) | tf.equal(x.tensor, 2), a.tensor, -a.tensor), a.shape)


@_op
def cast(b: Built, p: Picks) -> None:
    a = b.ints(p[0])
    b.add(tf.cast(a.tensor, tf.float32) * 0.25, a.shape)


@_op
def shape_of(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    b.add(tf.shape(a.tensor), (len(a.shape),))


@_op
def size_of(b: Built, p: Picks) -> None:
    b.add(tf.size(b.floats(p[0]).tensor) % 5, ())


@_op
def reduced(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0)
    function = (tf.reduce_mean, tf.reduce_max, lambda *x, **k: tf.reduce_sum(*x, **k) * 0.3, tf.reduce_min)[p[1] % 4]
    axis, keep = p[2] % len(a.shape), p[1] % 8 > 3
    shape = tuple(1 if i == axis else d for i, d in enumerate(a.shape) if keep or i != axis)
    b.add(function(a.tensor, axis, keepdims=keep), shape)


@_op
def reduced_to_one(b: Built, p: Picks) -> None:
    b.add(tf.reduce_mean(b.floats(p[0]).tensor), ())


@_op
def int_sum(b: Built, p: Picks) -> None:
    a = b.ints(p[0])
    b.add(tf.reduce_sum(a.tensor) % 7, ())


def _product(b: Built, p: Picks) -> tuple[Any, Shape]:
    a = b.floats(p[0], lambda s: len(s) == 2)
    fits = [v for v in b.values if v.is_float and len(v.shape) == 2 and v.shape[0] == a.shape[1]]
    if fits:
        other = fits[-1 - p[1] % len(fits)]
        return tf.matmul(a.tensor, other.tensor), (a.shape[0], other.shape[1])
    return tf.matmul(a.tensor, a.tensor, transpose_b=True), (a.shape[0], a.shape[0])


@_op
def matmul(b: Built, p: Picks) -> None:
    made, shape = _product(b, p)
    b.add(made * 0.25, shape)


@_op
def dense_layer(b: Built, p: Picks) -> None:
    made, shape = _product(b, p)
    bias = b.fitted(p[2], shape[1:])
    made = tf.nn.bias_add(made, bias) if p[0] % 2 else made + bias
    b.add((tf.tanh, tf.nn.relu, lambda x: x * 0.25)[p[2] % 3](made), shape)


@_op
def softmax(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0)
    b.add(tf.nn.softmax(a.tensor), a.shape)


@_op
def transposed(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0)
    b.add(tf.transpose(a.tensor), a.shape[::-1])


@_op
def flat(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    b.add(tf.reshape(a.tensor, [-1]), (math.prod(a.shape),))


@_op
def reshaped(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    like = b.floats(p[1], lambda s: math.prod(s) == math.prod(a.shape))
    b.add(tf.reshape(a.tensor, tf.shape(like.tensor)), like.shape)


@_op
def expanded(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    axis = p[1] % (len(a.shape) + 1)
    b.add(tf.expand_dims(a.tensor, axis), (*a.shape[:axis], 1, *a.shape[axis:]))


@_op
def squeezed(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    b.add(tf.reshape(tf.squeeze(a.tensor), [d for d in a.shape if d != 1]), tuple(d for d in a.shape if d != 1))


@_op
def sliced(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0 and s[0] > 0)
    n = a.shape[0]
    rows = (slice(1, None), slice(None, None, -1), slice(0, 1), slice(None, None, 2))[p[1] % 4]
    b.add(a.tensor[rows], (len(range(n)[rows]), *a.shape[1:]))


@_op
def row(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0 and s[0] > 0)
    b.add(a.tensor[p[1] % a.shape[0]], a.shape[1:])


@_op
def gathered(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0 and s[0] > 0)
    rows = [p[1] % a.shape[0], p[2] % a.shape[0]]
    b.add(tf.gather(a.tensor, rows), (2, *a.shape[1:]))


@_op
def split(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0 and s[-1] > 1)
    first = 1 + p[1] % (a.shape[-1] - 1)
    parts = tf.split(a.tensor, [first, a.shape[-1] - first], len(a.shape) - 1)
    for part, size in zip(parts, (first, a.shape[-1] - first), strict=True):
        b.add(part, (*a.shape[:-1], size))


@_op
def unstacked(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0 and 0 < s[0] < 5)
    for part in tf.unstack(a.tensor, a.shape[0]):
        b.add(part, a.shape[1:])


@_op
def joined(b: Built, p: Picks) -> None:
    a = b.floats(p[0], lambda s: len(s) > 0)
    other = b.floats(p[1], lambda s: s[1:] == a.shape[1:] and len(s) > 0)
    b.add(tf.concat([a.tensor, other.tensor], 0), (a.shape[0] + other.shape[0], *a.shape[1:]))


@_op
def stacked(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    other = b.floats(p[1], lambda s: s == a.shape)
    b.add(tf.stack([a.tensor, other.tensor], axis=p[2] % 2 if a.shape else 0),
          (2, *a.shape) if not a.shape or p[2] % 2 == 0 else (a.shape[0], 2, *a.shape[1:]))  # fmt: skip


@_op
def summed(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    others = [b.floats(pick, lambda s: s == a.shape).tensor for pick in p[1:]]
    b.add(tf.add_n([a.tensor, *others]) * 0.3, a.shape)


@_op
def gradient(b: Built, p: Picks) -> None:
    y, x = b.floats(p[0]), b.floats(p[0] + p[1] + 1)
    (found,) = tf.gradients(tf.reduce_sum(y.tensor), [x.tensor])
    if found is not None:
        b.add(tf.tanh(found), x.shape)


@_op
def gradient_by_variable(b: Built, p: Picks) -> None:
    variable, shape = b.variable(p[1], "v", "w")
    (found,) = tf.gradients(tf.reduce_sum(b.floats(p[0]).tensor), [variable])
    if found is not None:
        b.add(tf.tanh(tf.convert_to_tensor(found)), shape)


# --- state ----------------------------------------------------------------------------------------------


@_op
def read(b: Built, p: Picks) -> None:
    variable, shape = b.variable(p[0])
    b.access(variable.read_value() if p[1] % 2 or b.one_order else tf.convert_to_tensor(variable), shape)


@_op
def taken_as_it_is(b: Built, p: Picks) -> None:
    """The reference itself as an input: read by each node that takes it."""
    variable, shape = b.variable(p[0], "v", "w")
    b.access(
        variable * 0.5 if p[1] % 2 or b.one_order else tf.tanh(getattr(variable, "_ref", variable.read_value)()), shape
    )


def _assigning(name: str, function: Callable[[Any, Any], Any]) -> None:
    def build(b: Built, p: Picks) -> None:
        variable, shape = b.variable(p[0])
        is_float = variable.dtype.base_dtype == tf.float32
        value = b.fitted(p[1], shape, is_float)
        b.update(function(variable, value if name == "assign" or not is_float else value * 0.5), shape)

    OPS[name] = build


_assigning("assign", tf.assign)
_assigning("assign_add", tf.assign_add)
_assigning("assign_sub", tf.assign_sub)


def _scattering(name: str, function: Callable[[Any, Any, Any], Any]) -> None:
    def build(b: Built, p: Picks) -> None:
        variable, shape = b.variable(p[0], "v", "w")
        rows = [p[2] % shape[0], (p[2] + 1) % shape[0]]
        b.update(function(variable, rows, b.fitted(p[1], (2, *shape[1:])) * 0.5), shape)

    OPS[name] = build


_scattering("scatter_update", tf.scatter_update)
_scattering("scatter_add", tf.scatter_add)
_scattering("scatter_sub", tf.scatter_sub)


@_op
def updated_by_itself(b: Built, p: Picks) -> None:
    """The update's own value is a view of what it writes to."""
    variable, shape = b.variable(p[0], "w", "v")
    value = variable.read_value()
    b.access(value)
    if p[1] % 2:
        b.update(tf.scatter_update(variable, [1, 2], value[0:2]), shape)
    else:
        b.update((tf.assign, tf.assign_sub)[p[2] % 2](variable, tf.transpose(value)), shape)


def _optimizing(**optimizers: Callable[[], Any]) -> None:
    for name, make in optimizers.items():

        def build(b: Built, p: Picks, make: Callable[[], Any] = make) -> None:
            variable, shape = b.variable(p[0], "v", "w")
            grad = b.fitted(p[1], shape)
            if p[2] % 4 == 3:
                grad = tf.IndexedSlices(b.fitted(p[1], (2, *shape[1:])), tf.constant([1, 0]), tf.constant(shape))
            b.update(make().apply_gradients([(grad, variable)]))

        OPS[name] = build


_optimizing(
    descent=lambda: tf.train.GradientDescentOptimizer(0.25),
    momentum=lambda: tf.train.MomentumOptimizer(0.25, 0.5),
    adagrad=lambda: tf.train.AdagradOptimizer(0.25, 0.5),
    adam=lambda: tf.train.AdamOptimizer(0.1, epsilon=0.5),
    rmsprop=lambda: tf.train.RMSPropOptimizer(0.1, epsilon=0.5),
)


# --- control flow ---------------------------------------------------------------------------------------


@_op
def conditional(b: Built, p: Picks) -> None:
    a = b.floats(p[0])
    n = tf.reduce_sum(b.ints(p[1]).tensor)
    b.add(tf.cond(tf.less(n % 3, 2), lambda: tf.sin(a.tensor) * 0.5, lambda: a.tensor + 0.25), a.shape)


@_op
def conditional_update(b: Built, p: Picks) -> None:
    variable, shape = b.variable(p[0], "v", "w")
    value = tf.identity(b.fitted(p[1], shape))  # which waits: control inputs do not lead into branches and loops
    n = tf.reduce_sum(b.ints(p[2]).tensor)

    def update() -> Any:
        with tf.control_dependencies([tf.assign_add(variable, value * 0.5)]):
            return tf.reduce_sum(value) * 0.1

    found = tf.cond(tf.less(n % 3, 2), update, lambda: tf.reduce_max(value))
    b.update(found, ())


@_op
def loop(b: Built, p: Picks) -> None:
    a, other = b.pair(p[:2])
    if _broadcast(a.shape, other.shape) == a.shape:
        found = tf.while_loop(
            lambda i, x: tf.less(i, p[2] % 4), lambda i, x: [i + 1, tf.tanh(x * 0.5 + other.tensor)], [0, a.tensor]
        )
        b.add(found[1], a.shape)


@_op
def loop_with_updates(b: Built, p: Picks) -> None:
    """Each iteration takes what the one before has read, and changes the variable."""
    variable, shape = b.variable(p[0], "v", "w")
    value = tf.identity(b.fitted(p[1], shape))

    def body(i: Any, held: Any, total: Any) -> list[Any]:
        read = variable.read_value()
        with tf.control_dependencies([read]):
            changed = tf.assign_add(variable, value * 0.25).op
        with tf.control_dependencies([changed]):
            return [i + 1, tf.reshape(read, shape), tf.tanh(total + held)]

    _, held, total = tf.while_loop(lambda i, *_: tf.less(i, 1 + p[2] % 4), body, [0, value, value])
    b.update(total, shape)
    b.add(held, shape)


CONTROL = ("conditional", "conditional_update", "loop", "loop_with_updates")
READS = ("read", "taken_as_it_is")
VIEWS = ("identity", "transposed", "flat", "reshaped", "expanded", "sliced", "row", "split", "squeezed")
STATE = (
    "updated_by_itself", "assign", "assign_add", "assign_sub", "scatter_update", "scatter_add", "scatter_sub",
    "descent", "momentum", "adagrad", "adam", "rmsprop",
)  # fmt: skip


def build(program: Program) -> Built:
    """The graph of a program, in the default graph.

    With control flow, whose parts run in no fixed order, each access of state waits for the one before.
    """
    b = Built(one_order=any(do.op in CONTROL for do in program.body))
    for name, (dtype, shape) in FEEDS.items():
        tensor = b.feeds[name] = tf.placeholder(dtype, shape if program.known else [None] * len(shape), name)
        b.add(tensor, shape)
    for name, (dtype, shape) in VARIABLES.items():
        start = np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)
        initial = start / 8 if dtype == "float32" else start
        b.variables[name] = tf.Variable(initial.astype(dtype), name=name, use_resource=name in program.resource)
    b.add(tf.constant([[0.5, -0.25, 1.0], [0.75, 0.125, -1.0], [0.0, 0.375, 0.625]]), (3, 3))
    b.add(tf.constant([2, 0, 5]), (3,))
    b.add(tf.constant(0.75), ())
    for do in program.body:
        waits = [b.accesses[-1 - i % len(b.accesses)] for i in do.after if b.accesses]
        if b.one_order:
            waits = b.accesses[:]
        with tf.control_dependencies(waits):
            OPS[do.op](b, do.picks)
    for update, value in program.late:
        _wait_late(b, update, value)
    return b


def _wait_late(b: Built, update: int, value: int) -> None:
    """Let an update wait for a value that was built after it, where that makes no circle."""
    if not b.updates or b.one_order:
        return
    op, awaited = b.updates[-1 - update % len(b.updates)], b.values[-1 - value % len(b.values)].tensor.op
    pending, before = [awaited], set()
    while pending:
        at = pending.pop()
        if at not in before:
            before.add(at)
            pending += [*(t.op for t in at.inputs), *at.control_inputs]
    if op not in before:
        op._add_control_input(awaited)


# --- random programs ------------------------------------------------------------------------------------

_pick = st.sampled_from([0, 0, 1, 0, 1, 2, 3, 5, 8, 11])  # mostly what is new: that makes chains
_after = st.lists(st.integers(0, 3), max_size=2).map(tuple)


def _instructions(control: bool) -> st.SearchStrategy[Do]:
    plain = [name for name in OPS if name not in (*CONTROL, *STATE, *READS, *VIEWS)]
    kinds = [plain, plain, VIEWS, STATE, READS, *([CONTROL] if control else [])]
    names = st.sampled_from(kinds).flatmap(st.sampled_from)
    return st.builds(Do, names, st.tuples(_pick, _pick, _pick), _after)


@st.composite
def programs(draw: Any) -> Program:
    control = draw(st.sampled_from([False, False, False, True]))
    length = draw(st.integers(1, 24))  # else lists are mostly short
    body = draw(st.lists(_instructions(control), min_size=length, max_size=length).map(tuple))
    return Program(
        body,
        frozenset(name for name in VARIABLES if draw(st.booleans())),
        draw(st.booleans()),
        draw(st.lists(st.integers(0, 15), max_size=4).map(tuple)),
        draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=1).map(tuple)),
    )


def feeds_of(number: int) -> dict[str, np.ndarray]:
    """Values for the feeds of the `number`-th step."""
    random = np.random.default_rng(number)
    found: dict[str, np.ndarray] = {}
    for name, (dtype, shape) in FEEDS.items():
        whole = random.integers(0, 6, shape)
        found[name] = (whole / 4 - 0.5 if dtype == "float32" else whole).astype(dtype)
    return found
