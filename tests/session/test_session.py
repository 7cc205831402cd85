"""Running graphs: fetches, feeds, errors, threads, and what a session keeps."""

from __future__ import annotations

import collections
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors

Point = collections.namedtuple("Point", ["x", "y"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: tf.Graph) -> Iterator[tf.Session]:
    with tf.Session() as session:
        yield session


# --- fetches --------------------------------------------------------------------------------------------


def test_fetches_keep_their_structure(session: tf.Session) -> None:
    a, b = tf.constant(1.0, name="a"), tf.constant([2, 3], name="b")
    found = session.run({"l": [a, (b, "a:0")], "p": Point(a, b.op), "o": collections.OrderedDict(z=a)})
    assert found["l"][0] == 1.0
    assert found["l"][1][0].tolist() == [2, 3]
    assert isinstance(found["l"][1], tuple)
    assert found["p"] == Point(1.0, None)
    assert isinstance(found["o"], collections.OrderedDict)
    assert session.run([]) == []


def test_two_named_tuples_of_the_same_fetches_stay_apart(session: tf.Session) -> None:
    a = tf.constant(1.0)
    other = collections.namedtuple("Other", ["x", "y"])
    assert type(session.run(Point(a, a))) is Point
    assert type(session.run(other(a, a))) is other
    assert type(session.run((a, a))) is tuple
    assert type(session.run([a, a])) is list


def test_a_scalar_comes_as_a_numpy_scalar_and_an_operation_as_none(session: tf.Session) -> None:
    assert type(session.run(tf.constant(1.5))) is np.float32
    assert session.run(tf.constant("text")) == b"text"
    assert session.run(tf.no_op()) is None


def test_sparse_tensors_are_fetched_and_fed_whole(session: tf.Session) -> None:
    sparse = tf.SparseTensor(tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.float32, [None]),
                             tf.placeholder(tf.int64, [2]))  # fmt: skip
    value = tf.SparseTensorValue(np.array([[0, 1], [2, 0]]), np.array([1.0, 2.0], np.float32), np.array([3, 2]))
    found = session.run([sparse, sparse.values * 2], {sparse: value})
    assert found[0].indices.tolist() == [[0, 1], [2, 0]]
    assert found[1].tolist() == [2, 4]


@pytest.mark.parametrize("fetch", [None, "missing:0", "missing", 3.5, object()])
def test_what_cannot_be_fetched_is_named(session: tf.Session, fetch: object) -> None:
    tf.constant(1.0)
    with pytest.raises((TypeError, ValueError), match="Fetch argument"):
        session.run(fetch)


def test_a_fetch_of_another_graph_is_refused(session: tf.Session) -> None:
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    tf.constant(1.0)
    with pytest.raises(ValueError, match="not an element of this graph"):
        session.run(other)


def test_what_was_fetched_never_changes_and_is_the_callers_own(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0])
    x = tf.placeholder(tf.float32, [2])
    c = tf.constant([5.0, 6.0])
    session.run(v.initializer)
    fed = np.array([3.0, 4.0], np.float32)
    fetches = [
        v,
        v.read_value(),
        tf.reshape(v, [2, 1]),
        tf.identity(x),
        c,
        tf.reshape(c, [2, 1]),
        tf.negative(c),
    ]
    before = session.run(fetches, {x: fed})
    kept = [value.copy() for value in before]
    session.run(v.assign([9.0, 9.0]))
    fed[:] = 9
    for value in before:
        assert not np.shares_memory(value, fed)
    assert [b.tolist() for b in before] == [k.tolist() for k in kept]
    for value in before:
        value[:] = -1  # writing to it must not reach the session either
    again = session.run(fetches, {x: np.array([3.0, 4.0], np.float32)})
    assert again[4].tolist() == [5, 6]
    assert again[0].tolist() == [9, 9]


# --- feeds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [[1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1.0, 2.0]), np.array([2.0, 1.0], np.float32)[::-1],
     np.array([1, 9, 2, 9], np.float32)[::2], torch.tensor([1.0, 2.0]), torch.tensor([1, 2]),
     np.array([1.0, 2.0], ">f4"), [np.float32(1), 2]],
    ids=repr,
)  # fmt: skip
def test_a_float_placeholder_takes_lists_arrays_and_torch_tensors(session: tf.Session, value: object) -> None:
    x = tf.placeholder(tf.float32, [None])
    assert session.run(x * 10, {x: value}).tolist() == [10, 20]


def test_a_read_only_array_can_be_fed(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    array = np.ones(2, np.float32)
    array.flags.writeable = False
    assert session.run(x + 1, {x: array}).tolist() == [2, 2]


def test_a_torch_tensor_that_needs_gradients_can_be_fed(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    assert session.run(x + 1, {x: torch.ones(2, requires_grad=True)}).tolist() == [2, 2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "int16", "int64", "uint8", "uint16",
                                   "uint32", "uint64", "bool", "complex64", "complex128"])  # fmt: skip
def test_every_dtype_passes_through_a_session_unchanged(session: tf.Session, dtype: str) -> None:
    np_dtype = tf.as_dtype(dtype).as_numpy_dtype
    x = tf.placeholder(dtype, [2, 2])
    value = np.array([[0, 1], [1, 0]]).astype(np_dtype)
    found = session.run(tf.identity(x), {x: value})
    assert found.dtype == np_dtype
    assert (found == value).all()
    assert (session.run(tf.constant(value)) == value).all()


def test_strings_are_bytes_of_any_kind(session: tf.Session) -> None:
    x = tf.placeholder(tf.string)
    assert session.run(x, {x: ["é", b"\x00\xff\x00"]}).tolist() == ["é".encode(), b"\x00\xff\x00"]
    assert session.run(x, {x: "one"}) == b"one"


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [(np.ones((3, 2), np.float32), ValueError, r"shape \(3, 2\).*'x:0'.*'\(\?, 3\)'.*test_session\.py"),
     ([1.0, 2.0, 3.0], ValueError, r"shape \(3,\).*x:0"),
     ("text", (TypeError, ValueError), r"x:0.*float32"),
     ([[1j, 1, 1]], TypeError, "x:0.*float32"),
     ([[1.0], [1.0, 2.0]], ValueError, "x:0"),
     (None, (TypeError, ValueError), "x:0")],
)  # fmt: skip
def test_a_feed_that_does_not_fit_names_tensor_values_and_line(
    session: tf.Session, value: object, error: type, match: str
) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = x + 1
    with pytest.raises(error, match=match):
        session.run(y, {x: value})
    assert session.run(y, {x: [[1, 2, 3]]}).tolist() == [[2, 3, 4]], "the session stays usable"


FED: dict[str, tuple[str, object, list[object]]] = {
    "fractions": ("int32", [1.5, -2.7], [1, -2]),
    "an array of fractions": ("int32", np.array([1.5, np.nan]), [1, -(2**31)]),
    "an array of floats, to bytes": ("uint8", np.array([1.5, -2.7, 300.0]), [1, 254, 44]),
    "ints that wrap around": ("uint8", np.array([300, -2]), [44, 254]),
    "a list of them": ("int32", [2**40 + 1], [1]),
    "floats as booleans": ("bool", [1.5, 0.0], [True, False]),
    "text": ("float32", ["1.5", "2"], [1.5, 2.0]),
    "text that is kept as objects": ("int64", np.array([1, "2"], object), [1, 2]),
    "an array of complex numbers": ("float32", np.array([1 + 2j]), [1.0]),
}
"""By a description: the type of a placeholder, what is fed, and what TensorFlow 1.15.5 makes of it."""


@pytest.mark.parametrize("what", FED)
def test_what_is_fed_is_cast_as_tensorflow_casts_it(session: tf.Session, what: str) -> None:
    dtype, value, expected = FED[what]
    x = tf.placeholder(dtype)
    found = session.run(tf.identity(x), {x: value})
    assert (found.dtype.name, found.tolist()) == (dtype, expected)


@pytest.mark.parametrize(
    ("dtype", "value"), [("int32", [np.nan, 1.0]), ("int32", 2**40), ("uint8", -1), ("int32", "1.5"), ("float32", [1j])]
)
def test_what_numpy_does_not_cast_is_not_fed(session: tf.Session, dtype: str, value: object) -> None:
    x = tf.placeholder(dtype)
    with pytest.raises((TypeError, ValueError), match=dtype):
        session.run(tf.identity(x), {x: value})


CONSTANTS: list[tuple[object, str, object]] = [
    (-1, "uint8", 255),
    ([300], "int8", [44]),
    (0xFFFFFFFF, "int32", -1),
    (np.array([300, -1]), "uint8", [44, 255]),
    (np.array(1.5), "int32", 1),
    (np.float32(1.5), "int32", 1),
    (True, "int32", 1),
    (True, "float32", 1.0),
    (np.array([2, 0]), "bool", [True, False]),
    (np.array([1j]), "float32", [0.0]),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), CONSTANTS)
def test_constants_are_cast_as_tensorflow_casts_them(
    session: tf.Session, value: object, dtype: str, expected: object
) -> None:
    found = session.run(tf.constant(value, dtype))
    assert (found.dtype.name, found.tolist()) == (dtype, expected)


@pytest.mark.parametrize(("value", "dtype"), [(1.5, "int32"), (3, "bool"), (1j, "float32"), ("1", "int32")])
def test_python_numbers_of_another_kind_are_no_constants(session: tf.Session, value: object, dtype: str) -> None:
    with pytest.raises(TypeError, match=f"Expected {dtype}"):
        tf.constant(value, dtype)


def test_numbers_that_are_kept_as_objects_are_fed_and_made_constants_as_numbers(session: tf.Session) -> None:
    with session.graph.as_default():
        x = tf.placeholder(tf.float32, [None])
        mixed = np.array([1, np.float32(0.5), True], object)
        np.testing.assert_array_equal(session.run(x, {x: mixed}), np.float32([1, 0.5, 1]))
        np.testing.assert_array_equal(session.run(tf.constant(mixed, tf.float32)), np.float32([1, 0.5, 1]))
        for other in ([1, None], [1, "x"], [1, [2]]):
            given = np.empty(2, object)
            given[:] = other
            with pytest.raises((TypeError, ValueError)):
                session.run(x, {x: given})
            with pytest.raises((TypeError, ValueError)):
                tf.constant(given, tf.float32)


def test_objects_that_are_arrays_of_one_element_are_fed_as_their_elements(session: tf.Session) -> None:
    objects = np.array([[1.0], [None]], dtype=object)
    objects[1, 0] = np.array([2.0])
    assert session.run(tf.placeholder(tf.float32, [None, 1], name="x") * 2, {"x:0": objects}).tolist() == [[2], [4]]


def test_feeding_what_is_no_tensor_of_the_graph_is_refused(session: tf.Session) -> None:
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        other = tf.placeholder(tf.float32)
    for key in (other, "nothing:0", 3, x.op):
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            session.run(x, {key: 1.0})
    with pytest.raises(TypeError, match=r"cannot be a tf\.Tensor"):
        session.run(x, {x: x})
    with pytest.raises(TypeError, match="feed_dict"):
        session.run(x, [1.0])


def test_any_edge_can_be_fed(session: tf.Session) -> None:
    a = tf.constant(2.0)
    b = a * a
    assert session.run(b + 1, {b: 10.0}) == 11
    assert session.run([a, b], {a: 3.0}) == [3.0, 9.0]
    assert session.run(b, {"Const:0": 5.0}) == 25


def test_an_unfed_placeholder_is_named_with_its_line(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2], name="input")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"(?s)must feed.*'input'.*float .*test_session\.py"
    ) as caught:
        session.run(x + 1)
    assert caught.value.op is x.op
    assert caught.value.node_def.name == "input"
    assert session.run(x + 1, {x: [1, 1]}).tolist() == [2, 2]


@pytest.mark.parametrize("op", ["Placeholder", "PlaceholderV2"])
def test_placeholders_of_both_versions_are_fed(session: tf.Session, op: str) -> None:
    """Graphs from before TF 1.0 may hold the second."""
    x = tf.get_default_graph().create_op(op, [], attrs={"dtype": tf.float32, "shape": tf.TensorShape([2])}).outputs[0]
    assert x.shape.as_list() == [2]
    assert session.run(x + 1.0, {x: [1, 2]}).tolist() == [2, 3]
    with pytest.raises(errors.InvalidArgumentError, match="must feed"):
        session.run(x + 1.0)


# --- failures in a step ---------------------------------------------------------------------------------


def test_a_failing_kernel_names_node_values_and_line(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.placeholder(tf.float32, name="y")
    total = tf.add(x, y, name="total")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"(?s)total = AddV2\(float32\[2\].*float32\[3\].*test_session"
    ) as c:
        session.run(total, {x: [1, 2], y: [1, 2, 3]})
    assert c.value.op is total.op
    assert session.run(total, {x: [1, 2], y: 1}).tolist() == [2, 3]


def test_check_numerics_reports_a_nan_by_name(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32)
    checked = tf.check_numerics(tf.log(x), "log of x", name="guard")
    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)log of x.*(NaN|nan).*guard"):
        session.run(checked, {x: -1.0})
    assert session.run(checked, {x: 1.0}) == 0


def test_an_error_in_the_backward_pass_names_the_forward_line_too(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, name="x")
    g = tf.placeholder(tf.float32, name="g")
    y = tf.tanh(x, name="y")
    (dx,) = tf.gradients(y, x, grad_ys=g)
    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)gradient of y, built at .*y = tf\.tanh"):
        session.run(dx, {x: [1.0, 2.0], g: [1.0, 2.0, 3.0]})


def test_a_closed_session_says_so() -> None:
    a = tf.constant(1.0)
    session = tf.Session()
    call = session.make_callable(a)
    session.close()
    session.close()
    for use in (lambda: session.run(a), call, lambda: session.partial_run_setup([a])):
        with pytest.raises(RuntimeError, match="closed Session"):
            use()


def test_a_deadline_stops_a_step_between_nodes(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [600, 600])
    y = x
    for _ in range(300):
        y = tf.matmul(y, x)
    with pytest.raises(errors.DeadlineExceededError, match="timeout_in_ms=5"):
        session.run(y, {x: np.eye(600)}, options=tf.RunOptions(timeout_in_ms=5))
    small = tf.constant(1.0)
    assert session.run(small, options=tf.RunOptions(timeout_in_ms=10_000)) == 1.0


def test_run_metadata_receives_the_nodes_that_ran(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.tanh(x + 1.0, name="y")
    tf.exp(y, name="unused")
    metadata = tf.RunMetadata()
    session.run(y, {x: [1, 2]}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    nodes = {stats.node_name for device in metadata.step_stats.dev_stats for stats in device.node_stats}
    assert nodes & {"y", "y/region"}  # compiled on a task, which shows what it ran
    assert not [name for name in nodes if name.startswith("unused")]


# --- running part of a graph, in parts ------------------------------------------------------------------


def test_a_partial_run_goes_on_where_it_stopped(session: tf.Session) -> None:
    a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
    counter = tf.Variable(0.0)
    session.run(counter.initializer)
    r1 = tf.add(tf.assign_add(counter, 1.0), a + b)
    r2 = r1 * c
    handle = session.partial_run_setup([r1, r2], [a, b, c])
    first = session.partial_run(handle, r1, {a: 1, b: 2})
    assert first == 4
    assert session.partial_run(handle, r2, {c: first + 6}) == 40
    assert session.run(counter) == 1, "no node runs twice"
    with pytest.raises(errors.InvalidArgumentError, match="partial_run_setup"):
        session.partial_run(handle, r2)


def test_a_partial_run_refuses_what_was_not_set_up(session: tf.Session) -> None:
    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    y, z = a + 1.0, b + 1.0
    handle = session.partial_run_setup([y], [a])
    with pytest.raises(errors.InvalidArgumentError, match="not specified"):
        session.partial_run(handle, z)
    with pytest.raises(errors.InvalidArgumentError, match="not specified"):
        session.partial_run(handle, y, {b: 1.0})
    with pytest.raises(errors.InvalidArgumentError, match="Must feed a:0"):
        session.partial_run(handle, y)
    assert session.partial_run(handle, y, {a: 1.0}) == 2


def test_a_callable_takes_its_feeds_in_order(session: tf.Session) -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    call = session.make_callable([x - y, x.op], [x, y])
    assert call(5.0, 3.0) == [2.0, None]
    with pytest.raises(ValueError, match="2 values"):
        call(5.0)


def test_the_graph_may_grow_between_steps_and_change(session: tf.Session) -> None:
    a, log = tf.constant(1.0), []
    assert session.run(a) == 1
    b = a + 1.0
    assert session.run(b) == 2
    v = tf.Variable(0.0)
    session.run(v.initializer)
    session.run(b)
    b.op._add_control_input(v.assign_add(1.0).op)
    session.run(b)
    log.append(session.run(v))
    assert log == [1.0]


# --- sessions, threads, containers ----------------------------------------------------------------------


def test_sessions_of_no_target_have_state_of_their_own() -> None:
    v = tf.Variable(1.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        assert one.run(v) == 1
        with pytest.raises(errors.FailedPreconditionError, match="Variable"):
            two.run(v)


def test_sessions_of_one_target_share_containers_which_can_be_reset() -> None:
    with tf.container("kept"):
        a = tf.Variable(1.0, name="a")
    b = tf.Variable(2.0, name="b")
    with tf.Session("inproc://shared-test") as one, tf.Session("inproc://shared-test") as two:
        one.run([a.initializer, b.initializer])
        assert two.run([a, b]) == [1, 2]
        two.run(b.assign(5.0))
        assert one.run(b) == 5
        tf.Session.reset("inproc://shared-test", ["kept"])
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value a"):
            one.run(a)
        assert one.run(b) == 5
        one.run(a.initializer)
        assert two.run(a) == 1


def test_many_threads_run_one_session(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [4])
    y = tf.reduce_sum(tf.square(x) + 1.0)
    wrong: list[object] = []

    def work(i: int) -> None:
        for k in range(100):
            found = session.run(y, {x: [i, k, 0, 0]})
            if found != i * i + k * k + 4:
                wrong.append((i, k, found))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_default_sessions_nest_and_serve_eval_and_run(graph: tf.Graph) -> None:
    a = tf.constant(3.0)
    with pytest.raises(ValueError, match="no default session"):
        a.eval()
    with tf.Session() as session:
        assert tf.get_default_session() is session
        assert a.eval() == 3
        a.op.run()
        with tf.Session().as_default() as inner:
            assert tf.get_default_session() is inner
    assert tf.get_default_session() is None
    interactive = tf.InteractiveSession()
    assert a.eval() == 3
    interactive.close()
    assert tf.get_default_session() is None


def test_a_device_that_is_not_there_is_an_error_or_with_soft_placement_the_cpu(session: tf.Session) -> None:
    with tf.device("/gpu:7"):
        a = tf.constant(1.0, name="far")
    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)far.*GPU:7.*test_session\.py"):
        session.run(a)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as soft:
        assert soft.run(a) == 1
    with tf.device("/job:localhost/replica:0/task:0/cpu:0"):
        b = tf.constant(2.0)
    assert session.run(b) == 2


def test_a_plan_is_made_once_for_a_signature(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32)
    y = x + 1
    session.run([y, {"a": x}], {x: 1})
    plans = dict(session._runners)
    for value in (2, [3.0], np.ones((2, 2))):
        session.run([y, {"a": x}], {x: value})
    assert session._runners == plans


STEPS = """
import resource
import sys
import numpy as np
import penstock as tf

x = tf.placeholder(tf.float32, [])
y = x + 1.0
feed = {x: np.array(1.0, np.float32)}
with tf.Session() as session:
    for _ in range(10_000):
        session.run(y, feed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(int(sys.argv[1])):
        session.run(y, feed)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("steps", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_million_empty_steps_do_not_grow_memory(steps: int) -> None:
    """In a process of its own, whose peak no other test has raised."""
    signal.alarm(0)  # that process has a limit of its own
    command = [sys.executable, "-c", STEPS, str(steps)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert int(found.stdout) < 1024, f"grew by {found.stdout} KiB"


@pytest.mark.parametrize("by_environment", [True, False])
def test_denormals_are_kept_unless_the_session_flushes_them(
    monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    config = tf.ConfigProto()
    if by_environment:
        monkeypatch.setenv("PENSTOCK_FLUSH_DENORMALS", "1")
    else:
        config.graph_options.rewrite_options.custom_optimizers.add(name="flush_denormals")
    for dtype in (np.float32, np.float64):
        tiny = np.finfo(dtype).tiny
        with tf.Graph().as_default():
            x = tf.placeholder(dtype, [2])
            fetches = [x * dtype(0.1), tf.constant([tiny, 1], dtype) * dtype(0.1)]
            with tf.Session(config=config) as flushing:
                for found in flushing.run(fetches, {x: [tiny, 1]}):
                    assert found[0] == 0 and found[1] == dtype(0.1)
            monkeypatch.delenv("PENSTOCK_FLUSH_DENORMALS", raising=False)
            with tf.Session() as keeping:
                for found in keeping.run(fetches, {x: [tiny, 1]}):
                    assert found[0] == tiny * dtype(0.1) > 0
        if by_environment:
            monkeypatch.setenv("PENSTOCK_FLUSH_DENORMALS", "1")
        assert tiny / 16 * 16 == tiny, "NumPy's own denormals are left alone"


@pytest.mark.parametrize(("interval", "told"), [(1, [0, 1, 2, 3, 4, 5, 6]), (3, [2, 5]), (0, [])])
def test_the_cost_model_is_told_each_time_it_has_seen_as_many_steps_as_asked(interval: int, told: list[int]) -> None:
    """Recorded from TensorFlow 2.21."""
    x = tf.placeholder(tf.float32, [])
    squared = x * x
    graph_options = tf.GraphOptions(build_cost_model=interval)
    found = []
    with tf.Session(config=tf.ConfigProto(graph_options=graph_options)) as session:
        for step in range(7):
            metadata = tf.RunMetadata()
            session.run(squared, {x: 1.0}, run_metadata=metadata)
            if metadata.HasField("cost_graph"):
                found.append(step)
    assert found == told


def test_what_a_class_of_the_library_attrs_holds_is_fetched_as_one_of_its_kind(session: tf.Session) -> None:
    Pair = pytest.importorskip("attr").make_class("Pair", ["first", "second"])
    found = session.run(Pair(tf.constant(1), {"inner": Pair(tf.constant([2.0]), [tf.constant(b"x")])}))
    assert isinstance(found, Pair) and found.first == 1
    inner = found.second["inner"]
    assert isinstance(inner, Pair) and inner.first.tolist() == [2.0] and inner.second == [b"x"]


CLOSES_LATE = """
import penstock as tf
class Data:
    def __init__(self):
        self.session = tf.Session()
        iterator = tf.data.Dataset.range(9).map(lambda x: x + 1).repeat().prefetch(2).make_initializable_iterator()
        self.session.run(iterator.initializer)
        self.next = iterator.get_next()
    def __del__(self):
        self.session.close()
data = Data()
print(data.session.run(data.next))
"""


def test_a_session_that_an_object_closes_when_the_interpreter_ends_says_nothing() -> None:
    found = subprocess.run([sys.executable, "-c", CLOSES_LATE], capture_output=True, text=True, timeout=300)
    assert (found.returncode, found.stdout, found.stderr) == (0, "1\n", "")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_with_a_reversed_axis_of_one_element_are_fed(session: tf.Session, dtype: type) -> None:
    """NumPy takes them for contiguous, though a stride is negative."""
    reversed_ = np.flip(np.arange(3, dtype=dtype).reshape(1, 3), 0)
    assert reversed_.strides[0] < 0 and reversed_.flags.c_contiguous
    x = tf.placeholder(tf.float32, [1, 3])
    y = tf.placeholder(tf.float32, [None, 3])
    fetches = [x + 0, y * 2 + 1, tf.constant(reversed_)]
    for _ in range(3):
        fed = session.run(fetches, {x: reversed_, y: reversed_})
        assert [value.tolist() for value in fed] == [[[0, 1, 2]], [[1, 3, 5]], [[0, 1, 2]]]
