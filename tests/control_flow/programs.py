"""Random programs of nested conditionals and loops, with two meanings: a graph, and NumPy.

A program is a tree of statements that define names, each used after its definition in the same block or in
one inside it. Names begin with the type of their value: `v` a float vector, `s` a float scalar, `n` an int,
`b` a bool. Floats go through operations that neither grow their values nor break their derivatives, so that
gradients can be compared with finite differences; ints stay within 0..4, so that every loop whose limit is
one of them ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.ops.control_flow.cond import cond
from penstock.ops.control_flow.while_loop import while_loop

LENGTH = 3
DEPTH = 3
INPUTS = ("v0", "v1", "s0", "n0", "n1", "b0")
STATE = ("s0", "b0")
"""The inputs that may be variables."""


@dataclass(frozen=True)
class Apply:
    """`out = op(*args)`, once the values `after` are there. `number` is the constant of ops that have one."""

    out: str
    op: str
    args: tuple[str, ...]
    number: float = 0
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """Statements, and the names whose values are its results."""

    statements: tuple[Apply | Cond | While, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Cond:
    """`outs = if_true if pred else if_false`."""

    outs: tuple[str, ...]
    pred: str
    if_true: Block
    if_false: Block


@dataclass(frozen=True)
class While:
    """`names = inits; while test: names = body; outs = names`.

    The loop counts in `counter`, from 0 in steps of `step`; the test is `counter < limit`, and, if there is a
    `test`, its result too. `limit` is a name or a number. `maximum` is while_loop's maximum_iterations.
    """

    outs: tuple[str, ...]
    counter: str
    step: int
    limit: str | int
    names: tuple[str, ...]
    inits: tuple[str, ...]
    body: Block
    test: Block | None = None
    maximum: int | None = None
    parallel: int = 10


@dataclass(frozen=True)
class Program:
    """`known_shapes`: whether the graph knows the length of vectors. `variable`: the kind of STATE."""

    block: Block
    known_shapes: bool = True
    variable: str = ""


# --- meaning in NumPy -----------------------------------------------------------------------------------

_NUMPY: dict[str, Any] = {
    "mean": lambda c, a, b: (a + b) * 0.5,
    "difference": lambda c, a, b: (a - b) * 0.5,
    "gate": lambda c, a, b: a * np.tanh(b),
    "scale": lambda c, a: a * c,
    "shift": lambda c, a: a * 0.5 + c,
    "tanh": lambda c, a: np.tanh(a),
    "sin": lambda c, a: np.sin(a),
    "negative": lambda c, a: -a,
    "total": lambda c, a: np.sum(a) * 0.3,
    "from_int": lambda c, n: np.float64(n) * 0.1,
    "int_add": lambda c, n, m: (n + m) % 5,
    "int_times": lambda c, n, m: (n * m) % 5,
    "int_minus": lambda c, n, m: (n - m) % 5,
    "int_shift": lambda c, n: (n + int(c)) % 5,
    "int_less": lambda c, n, m: n < m,
    "int_even": lambda c, n: n % 2 == 0,
    "float_less": lambda c, s: s < c,
    "not": lambda c, b: not b,
    "and": lambda c, b, d: b and d,
}

SIGNATURES = {
    "mean": ("vv", "vs", "sv", "ss"),
    "difference": ("vv", "vs", "sv", "ss"),
    "gate": ("vv", "vs", "sv", "ss"),
    "scale": ("v", "s"),
    "shift": ("v", "s"),
    "tanh": ("v", "s"),
    "sin": ("v", "s"),
    "negative": ("v", "s"),
    "total": ("v",),
    "from_int": ("n",),
    "int_add": ("nn",),
    "int_times": ("nn",),
    "int_minus": ("nn",),
    "int_shift": ("n",),
    "int_less": ("nn",),
    "int_even": ("n",),
    "float_less": ("s",),
    "not": ("b",),
    "and": ("bb",),
}


def type_of(op: str, args: tuple[str, ...]) -> str:
    """The type of what `op` gives."""
    if op in ("int_less", "int_even", "float_less", "not", "and"):
        return "b"
    if op.startswith("int_"):
        return "n"
    return "v" if op not in ("total", "from_int") and any(a[0] == "v" for a in args) else "s"


def evaluate(program: Program, inputs: dict[str, Any]) -> list[Any]:
    """The results, in plain Python and NumPy. `inputs`: a value for each of INPUTS."""
    return _run(program.block, dict(inputs))


def _run(block: Block, env: dict[str, Any]) -> list[Any]:
    for s in block.statements:
        match s:
            case Apply():
                env[s.out] = _NUMPY[s.op](s.number, *(env[a] for a in s.args))
            case Cond():
                env.update(zip(s.outs, _run(s.if_true if env[s.pred] else s.if_false, dict(env)), strict=True))
            case While():
                env.update(zip(s.outs, _loop(s, env), strict=True))
    return [env[name] for name in block.results]


def _loop(loop: While, env: dict[str, Any]) -> list[Any]:
    values = [env[name] for name in loop.inits]
    count = rounds = 0
    while loop.maximum is None or rounds < loop.maximum:
        inside = {**env, **dict(zip(loop.names, values, strict=True)), loop.counter: count}
        limit = inside[loop.limit] if isinstance(loop.limit, str) else loop.limit
        if not count < limit or (loop.test is not None and not _run(loop.test, dict(inside))[0]):
            break
        values = _run(loop.body, inside)
        count += loop.step
        rounds += 1
    return [count, *values]


# --- meaning as a graph ---------------------------------------------------------------------------------


@dataclass
class Built:
    """The graph of a program: its placeholders (and variable), and its results."""

    inputs: dict[str, Any]
    results: list[Any]
    setup: list[Any] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)

    def by(self, name: str) -> Any:
        """What to differentiate by for an input: the variable where it is one."""
        return self.variables.get(name, self.inputs[name])

    def feeds(self, values: dict[str, Any]) -> dict[Any, Any]:
        return {tensor: values[name] for name, tensor in self.inputs.items()}


def build(program: Program, tf: Any) -> Built:
    """The program as a graph, in the default one."""
    shapes = {"v": [LENGTH] if program.known_shapes else None, "s": [], "n": [], "b": []}
    dtypes = {"v": tf.float64, "s": tf.float64, "n": tf.int32, "b": tf.bool}
    built = Built({name: tf.placeholder(dtypes[name[0]], shapes[name[0]], name) for name in INPUTS}, [])
    env = dict(built.inputs)
    if program.variable:
        for name in STATE:
            variable = tf.Variable(
                np.zeros([], dtypes[name[0]].np),
                use_resource=program.variable == "resource",
                name=f"state_{name}",
            )
            built.setup.append(tf.assign(variable, built.inputs[name]))
            env[name] = built.variables[name] = variable
    built.results = _Builder(tf, program.known_shapes).block(program.block, env)
    return built


class _Builder:
    def __init__(self, tf: Any, known_shapes: bool) -> None:
        self._tf, self._known_shapes = tf, known_shapes
        self._graph_ops: dict[str, Any] = {
            "mean": lambda c, a, b: (a + b) * 0.5,
            "difference": lambda c, a, b: (a - b) * 0.5,
            "gate": lambda c, a, b: a * tf.tanh(b),
            "scale": lambda c, a: a * c,
            "shift": lambda c, a: a * 0.5 + c,
            "tanh": lambda c, a: tf.tanh(a),
            "sin": lambda c, a: tf.sin(a),
            "negative": lambda c, a: -a,
            "total": lambda c, a: tf.reduce_sum(a) * 0.3,
            "from_int": lambda c, n: tf.cast(n, tf.float64) * 0.1,
            "int_add": lambda c, n, m: (n + m) % 5,
            "int_times": lambda c, n, m: (n * m) % 5,
            "int_minus": lambda c, n, m: (n - m) % 5,
            "int_shift": lambda c, n: (n + int(c)) % 5,
            "int_less": lambda c, n, m: tf.less(n, m),
            "int_even": lambda c, n: tf.equal(n % 2, 0),
            "float_less": lambda c, s: tf.less(s, c),
            "not": lambda c, b: tf.logical_not(b),
            "and": lambda c, b, d: tf.logical_and(b, d),
        }

    def block(self, block: Block, env: dict[str, Any]) -> list[Any]:
        for s in block.statements:
            match s:
                case Apply():
                    with self._tf.control_dependencies([env[a] for a in s.after]):
                        env[s.out] = self._graph_ops[s.op](s.number, *(env[a] for a in s.args))
                case Cond():
                    env.update(zip(s.outs, self._cond(s, env), strict=True))
                case While():
                    env.update(zip(s.outs, self._while(s, env), strict=True))
        return [env[name] for name in block.results]

    def _cond(self, s: Cond, env: dict[str, Any]) -> list[Any]:
        return cond(
            env[s.pred],
            lambda: self.block(s.if_true, dict(env)),
            lambda: self.block(s.if_false, dict(env)),
            strict=True,
        )

    def _while(self, loop: While, env: dict[str, Any]) -> list[Any]:
        def inside(count: Any, values: tuple[Any, ...]) -> dict[str, Any]:
            return {**env, **dict(zip(loop.names, values, strict=True)), loop.counter: count}

        def test(count: Any, *values: Any) -> Any:
            here = inside(count, values)
            going = self._tf.less(count, here[loop.limit] if isinstance(loop.limit, str) else loop.limit)
            return going if loop.test is None else self._tf.logical_and(going, self.block(loop.test, here)[0])

        def body(count: Any, *values: Any) -> list[Any]:
            return [count + loop.step, *self.block(loop.body, inside(count, values))]

        shapes = None
        if not self._known_shapes:
            shapes = [self._tf.TensorShape(None if n[0] == "v" else []) for n in (loop.counter, *loop.names)]
        inits = [0, *(env[name] for name in loop.inits)]
        return while_loop(
            test, body, inits, shape_invariants=shapes, parallel_iterations=loop.parallel,
            maximum_iterations=loop.maximum, return_same_structure=True,
        )  # fmt: skip


# --- random programs ------------------------------------------------------------------------------------


class _Generator:
    """Draws statements, giving out names that no other statement has."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self._count = 10

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def choice(self, values: Any) -> Any:
        return self._draw(st.sampled_from(values))

    def name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def some(self, scope: list[str], kind: str) -> str:
        """A name of a type: the newest is the simplest choice."""
        return self.choice([name for name in reversed(scope) if name[0] == kind])

    def block(self, scope: list[str], kinds: str, depth: int, most: int) -> Block:
        """Statements after those that gave `scope`, and results of the types `kinds`."""
        scope = list(scope)
        statements = []
        for _ in range(self.integer(0, most)):
            statements.append(self.statement(scope, depth))
        return Block(tuple(statements), tuple(self.some(scope, kind) for kind in kinds))

    def statement(self, scope: list[str], depth: int) -> Apply | Cond | While:
        """One statement, whose outputs it adds to `scope`."""
        what = self.choice(["apply"] if depth == 0 else ["apply", "apply", "cond", "while", "while"])
        made = getattr(self, what)(scope, depth)
        scope += [made.out] if isinstance(made, Apply) else made.outs
        return made

    def apply(self, scope: list[str], depth: int) -> Apply:
        op = self.choice(list(SIGNATURES))
        args = tuple(self.some(scope, kind) for kind in self.choice(SIGNATURES[op]))
        number = 0.0
        if op in ("scale", "shift"):
            number = self.choice([0.75, 0.5, -0.625])
        elif op == "float_less":
            number = self.choice([0.03137, -0.47731, 0.61253])  # not where finite differences would step over it
        elif op == "int_shift":
            number = self.integer(1, 4)
        after = tuple(self.choice(list(reversed(scope))) for _ in range(self.choice([0, 0, 0, 1, 2])))
        return Apply(self.name(type_of(op, args)), op, args, number, after)

    def kinds(self, most: int) -> str:
        return "".join(self.choice("vsvsnb") for _ in range(self.integer(1, most)))

    def cond(self, scope: list[str], depth: int) -> Cond:
        kinds = self.kinds(3)
        pred = self.some(scope, "b")
        branches = [self.block(scope, kinds, depth - 1, 3) for _ in range(2)]
        return Cond(tuple(self.name(kind) for kind in kinds), pred, *branches)

    def while_(self, scope: list[str], depth: int) -> While:
        kinds = self.kinds(4)
        inits = tuple(self.some(scope, kind) for kind in kinds)
        counter, names = self.name("n"), tuple(self.name(kind) for kind in kinds)
        around = [*scope, *names]
        limit = self.choice([2, 1, 3, 0, *(n for n in reversed(around) if n[0] == "n")])
        inside = [*around, counter]
        test = (
            self.block(inside, "b", self.choice([0, 0, min(1, depth - 1)]), 2)
            if self.choice([False, False, True])
            else None
        )
        body = self.block(inside, kinds, depth - 1, 3)
        outs = (self.name("n"), *map(self.name, kinds))
        step, maximum = self.choice([1, 1, 2]), self.choice([None, None, None, 0, 1, 2])
        parallel = self.choice([10, 1, 2])
        return While(outs, counter, step, limit, names, inits, body, test, maximum, parallel)


setattr(_Generator, "while", _Generator.while_)


@st.composite
def programs(draw: Any) -> Program:
    """Programs of up to DEPTH nested conditionals and loops, whose floats are all results."""
    generator = _Generator(draw)
    scope = list(INPUTS)
    statements = [generator.statement(scope, DEPTH) for _ in range(generator.integer(1, 4))]
    outs = [n for s in statements for n in ([s.out] if isinstance(s, Apply) else s.outs)]
    block = Block(tuple(statements), tuple(outs))
    return Program(block, generator.choice([True, False]), generator.choice(["", "", "ref", "resource"]))


def inputs() -> st.SearchStrategy[dict[str, Any]]:
    """A value for each of INPUTS."""
    number = st.integers(-8, 8).map(lambda i: i / 8 + math.pi / 100)
    return st.fixed_dictionaries(
        {
            "v0": st.lists(number, min_size=LENGTH, max_size=LENGTH).map(np.array),
            "v1": st.lists(number, min_size=LENGTH, max_size=LENGTH).map(np.array),
            "s0": number.map(np.float64),
            "n0": st.integers(0, 4),
            "n1": st.integers(0, 4),
            "b0": st.booleans(),
        }
    )
