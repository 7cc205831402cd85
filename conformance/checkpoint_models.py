"""Thirty sets of tensors and models whose checkpoints Penstock and TensorFlow exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Region = tuple[tuple[int, ...], tuple[int, ...]]  # start and shape

QUANTISED = {
    name: np.dtype([(name, kind)])
    for name, kind in {
        "qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16, "qint32": np.int32,
    }.items()
}  # fmt: skip
DTYPES: dict[str, Any] = {
    **{kind: np.dtype(kind) for kind in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")},
    **{kind: np.dtype(kind) for kind in ("uint64", "float16", "float32", "float64", "complex64", "complex128")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    **QUANTISED,
    "string": np.dtype(object),
}
# Those that TensorFlow's first format cannot have.
ONLY_V2 = ("bfloat16", "float8_e5m2", "float8_e4m3fn", "uint32", "uint64", "qint16", "quint16")


@dataclass
class Model:
    """Tensors by name, and the regions in which some are saved; or, with `kind`, a program that makes them."""

    name: str
    tensors: dict[str, Array] = field(default_factory=dict)
    regions: dict[str, list[Region]] = field(default_factory=dict)
    kind: str = ""

    @property
    def folder(self) -> str:
        return self.name.replace(" ", "_").replace(",", "")

    @property
    def first_format(self) -> bool:
        """Whether TensorFlow can save it in its first format as well."""
        return not any(dtype_name(value) in ONLY_V2 for value in self.tensors.values()) and self.kind != "sharded"


def dtype_name(value: Array) -> str:
    if value.dtype.names:
        return value.dtype.names[0]
    return "string" if value.dtype == object else value.dtype.name


def models() -> list[Model]:
    rng = np.random.default_rng(15)
    every = {kind: draw(rng, kind, (2, 3)) for kind in DTYPES}
    floats = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38], np.float32)
    floats[1:2].view(np.uint32)[0] |= 0x1234  # a NaN with a payload
    halves = np.array([np.nan, np.inf, -0.0, 6e-8, 65504], np.float16)
    words = [b"", b"\0", b"\xff\0\x01", "größer".encode(), b"x" * 127, b"y" * 128, b"z" * 20_000]
    names = ["w", "a b", "scope/w/Adam_1", "größe", "x" * 300, "w:0", "-_.", "w/part_0", "_CHECKPOINTABLE_OBJECT_GRAPH"]
    return [
        Model("every type", every),
        Model("every type but new ones", {k: v for k, v in every.items() if k not in ONLY_V2}),
        Model("scalars", {kind: draw(rng, kind, ()) for kind in DTYPES}),
        Model(
            "nothing in them",
            {
                f"{kind}/{n}": draw(rng, kind, shape)
                for kind in ("float32", "string", "bool")
                for n, shape in enumerate([(0,), (3, 0), (0, 2, 4)])
            },
        ),
        Model(
            "strings",
            {
                "s": objects(words),
                "one": objects([b"x" * 1000]).reshape(()),
                "square": objects(words[:4]).reshape(2, 2),
            },
        ),
        Model("names", {name: draw(rng, "int32", (2,)) for name in names}),
        Model("special numbers", {"f": floats, "d": floats.astype(np.float64), "h": halves}),
        Model("many", {f"layer_{n:05d}/weights": draw(rng, "float32", (n % 3,)) for n in range(7000)}),
        Model("large", {"table": draw(rng, "float32", (1200, 1000)), "step": np.array(7, np.int64)}),
        Model("many dimensions", {"w": draw(rng, "int16", (1, 2, 1, 3, 1, 2, 1, 2))}),
        *(sliced(rng, f"parts of {kind}", kind) for kind in ("float32", "string", "complex128", "bool", "bfloat16")),
        Model("Adam", kind="adam"),
        Model("Momentum, resources", kind="momentum"),
        Model("partitioned", kind="partitioned"),
        Model("in shards", kind="sharded"),
        Model("recurrent", kind="rnn"),
        *(mixed(rng, f"mixed {n}") for n in range(10)),
    ]


def draw(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Array:
    if kind == "string":
        count = int(np.prod(shape))
        return objects([rng.bytes(int(rng.integers(0, 200))) for _ in range(count)]).reshape(shape)
    dtype = DTYPES[kind]
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    plain = dtype[0] if dtype.names else dtype
    if plain.kind in "iu":
        info = np.iinfo(plain)
        return rng.integers(info.min, info.max, shape, plain, endpoint=True).view(dtype)
    values = rng.normal(size=shape) * 3
    return np.asarray(values + 1j * rng.normal(size=shape) if plain.kind == "c" else values).astype(dtype)


def objects(items: list[bytes]) -> Array:
    out = np.empty(len(items), object)
    out[:] = items
    return out


def sliced(rng: np.random.Generator, name: str, kind: str) -> Model:
    rows: list[Region] = [((0, 0), (2, 5)), ((2, 0), (1, 5)), ((3, 0), (4, 5))]
    tiles: list[Region] = [((0, 0), (3, 20)), ((3, 0), (3, 20)), ((0, 20), (6, 10))]
    tensors = {"rows": draw(rng, kind, (7, 5)), "tiles": draw(rng, kind, (6, 30)), "whole": draw(rng, kind, (4,))}
    return Model(name, tensors, {"rows": rows, "tiles": tiles})


def mixed(rng: np.random.Generator, name: str) -> Model:
    model = Model(name)
    kinds = [kind for kind in DTYPES if kind not in ONLY_V2] if int(name.split()[-1]) % 2 else list(DTYPES)
    for n in range(int(rng.integers(5, 40))):
        shape = tuple(int(size) for size in rng.integers(0, 9, int(rng.integers(0, 4))))
        key = f"scope{n % 3}/v{n}"
        model.tensors[key] = draw(rng, str(rng.choice(kinds)), shape)
        if shape and shape[0] > 2 and all(shape) and rng.integers(2):
            cut = int(rng.integers(1, shape[0]))
            zeros = (0,) * (len(shape) - 1)
            model.regions[key] = [((0, *zeros), (cut, *shape[1:])), ((cut, *zeros), (shape[0] - cut, *shape[1:]))]
    return model


def region_spec(shape: tuple[int, ...], region: Region) -> str:
    """As in Save's input `shape_and_slices`."""
    extents = ":".join(f"{start},{size}" for start, size in zip(*region, strict=True))
    return " ".join(map(str, shape)) + " " + extents


def build(tf: Any, kind: str) -> Any:
    """A program's variables, in the default graph; returns what trains them."""
    tf.set_random_seed(3)
    x = tf.constant(np.linspace(-1, 1, 40, dtype=np.float32).reshape(8, 5))
    if kind == "rnn":
        gates = tf.get_variable("rnn/basic_lstm_cell/kernel", [9, 16])
        state = tf.zeros([8, 4])
        for _ in range(3):
            i, j, f, o = tf.split(tf.matmul(tf.concat([x, state], 1), gates), 4, 1)
            state = tf.tanh(i * j + f) * tf.sigmoid(o)
        loss = tf.reduce_sum(state**2)
    else:
        resources = kind == "momentum"
        parts = tf.fixed_size_partitioner(3) if kind in ("partitioned", "sharded") else None
        with tf.variable_scope("net", use_resource=resources, partitioner=parts):
            w = tf.get_variable("dense/kernel", [5, 7])
            b = tf.get_variable("dense/bias", [7], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean((tf.matmul(x, tf.convert_to_tensor(w)) + tf.convert_to_tensor(b) - 1) ** 2)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9) if kind == "momentum" else tf.train.AdamOptimizer(0.1)
    return optimizer.minimize(loss, global_step=step)
