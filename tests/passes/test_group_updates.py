"""Updates of many small variables as one kernel: which are grouped, and that they stay what they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops.fused_updates import GROUPED
from penstock.passes.common_subexpressions import merge_common_subexpressions
from penstock.passes.group_updates import LEAST_MEMBERS, MOST_ELEMENTS, group_updates
from penstock.passes.prune import prune

_SHAPES = [[], [3], [2, 4], [5, 1], [2, 2, 2], [7]]


@pytest.fixture(autouse=True)
def _own_graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PENSTOCK_COMPILE", "off")  # a region would take small updates
    with tf.Graph().as_default():
        yield


def _ops(graph: Any) -> Counter[str]:
    return Counter(node.op.name for node in graph.nodes)


def _after(feeds: list[Any], fetches: list[Any], targets: list[Any]) -> Any:
    """The step after the pass; equal rates are one node then, as they are in a session."""
    return group_updates(merge_common_subexpressions(prune(feeds, fetches, targets)))


def _grouped(fetches: list[Any], targets: list[Any], feeds: list[Any] | None = None) -> Counter[str]:
    """The ops of a step after the pass, those of grouped updates only."""
    found = _ops(_after(feeds or [], fetches, targets))
    return Counter({name: count for name, count in found.items() if name.startswith("_Grouped")})


def _variables(use_resource: bool = False, dtype: Any = tf.float32, shapes: list[list[int]] = _SHAPES) -> list[Any]:
    dice = np.random.RandomState(3)
    return [tf.Variable(tf.constant(dice.rand(*shape), dtype), use_resource=use_resource) for shape in shapes]


def _scalars(number: int) -> list[Any]:
    return [tf.Variable(0.0) for _ in range(number)]


def _gradients(variables: list[Any]) -> list[tuple[Any, Any]]:
    dice = np.random.RandomState(4)
    return [(tf.constant(dice.randn(*v.shape.as_list()), v.dtype.base_dtype), v) for v in variables]


def _descend(variables: list[Any], rate: Any, gradient: Any) -> Any:
    """Updates that have their rate in common, as one operation."""
    apply = tf.raw_ops.ApplyGradientDescent
    return tf.group(*(apply(var=v, alpha=rate, delta=gradient) for v in variables))


# --- the formulas, as TensorFlow documents them ---------------------------------------------------------

Formula = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def _descent(w: np.ndarray, g: np.ndarray, steps: int) -> np.ndarray:
    return w - 0.1 * g * steps


def _momentum(w: np.ndarray, g: np.ndarray, steps: int) -> np.ndarray:
    a = 0 * w
    for _ in range(steps):
        a = 0.9 * a + g
        w = w - 0.1 * a
    return w


def _nesterov(w: np.ndarray, g: np.ndarray, steps: int) -> np.ndarray:
    a = 0 * w
    for _ in range(steps):
        a = 0.9 * a + g
        w = w - 0.1 * (g + 0.9 * a)
    return w


def _adagrad(w: np.ndarray, g: np.ndarray, steps: int) -> np.ndarray:
    a = 0 * w + 0.1
    for _ in range(steps):
        a = a + g * g
        w = w - 0.1 * g / np.sqrt(a)
    return w


def _adam(w: np.ndarray, g: np.ndarray, steps: int) -> np.ndarray:
    m, v = 0 * w, 0 * w
    for t in range(1, steps + 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
    return w


_OPTIMIZERS: dict[str, tuple[Callable[[Any], Any], Formula]] = {
    "GradientDescent": (tf.train.GradientDescentOptimizer, _descent),
    "Momentum": (lambda rate: tf.train.MomentumOptimizer(rate, 0.9), _momentum),
    "Nesterov": (lambda rate: tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True), _nesterov),
    "Adagrad": (tf.train.AdagradOptimizer, _adagrad),
    "Adam": (tf.train.AdamOptimizer, _adam),
}


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", _OPTIMIZERS)
def test_updates_of_one_optimizer_are_one_kernel_that_does_what_they_say(
    name: str, use_resource: bool, dtype: Any
) -> None:
    make, formula = _OPTIMIZERS[name]
    variables = _variables(use_resource, dtype)
    pairs = _gradients(variables)
    rate = tf.placeholder(tf.float32, [])
    train = make(rate).apply_gradients(pairs)
    assert sum(_grouped([], [train], [rate]).values()) == 1
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before, gradients = session.run([variables, [gradient for gradient, _ in pairs]])
        for _ in range(3):
            session.run(train, {rate: 0.1})
        for now, w, g in zip(session.run(variables), before, gradients, strict=True):
            np.testing.assert_allclose(now, formula(w.astype(float), g.astype(float), 3), rtol=3e-6, atol=3e-6)


def test_adagrad_v2_adds_epsilon_to_the_root() -> None:
    variables = _variables()
    accumulators = [tf.Variable(tf.fill(v.shape, 0.5)) for v in variables]
    pairs = _gradients(variables)
    updates = [
        tf.raw_ops.ApplyAdagradV2(var=v, accum=a, lr=0.1, epsilon=0.25, grad=g)
        for (g, v), a in zip(pairs, accumulators, strict=True)
    ]
    train = tf.group(*updates)
    assert _grouped([], [train]) == {"_GroupedApplyAdagradV2": 1}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before, gradients = session.run([variables, [gradient for gradient, _ in pairs]])
        session.run(train)
        for now, w, g in zip(session.run(variables), before, gradients, strict=True):
            np.testing.assert_allclose(now, w - 0.1 * g / (np.sqrt(0.5 + g * g) + 0.25), rtol=1e-5)


def test_every_op_that_can_be_grouped_takes_variables_and_gradient_as_lists() -> None:
    for name, op in GROUPED.items():
        lists = [arg.name for arg in op.inputs if arg.is_list]
        assert lists[0] == "var" and lists[-1] in ("grad", "delta"), name
        assert not op.outputs and op.stateful


# --- which updates --------------------------------------------------------------------------------------


def test_few_updates_stay_alone() -> None:
    variables = _variables(shapes=[[2]] * (LEAST_MEMBERS - 1))
    train = tf.train.AdamOptimizer().apply_gradients(_gradients(variables))
    assert not _grouped([], [train])


def test_large_variables_keep_kernels_of_their_own() -> None:
    variables = _variables(shapes=[[2]] * LEAST_MEMBERS + [[MOST_ELEMENTS + 1]])
    train = tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients(_gradients(variables))
    found = _ops(_after([], [], [train]))
    assert (found["_GroupedApplyMomentum"], found["ApplyMomentum"]) == (1, 1)


def test_updates_with_other_rates_are_other_groups() -> None:
    one, other = _variables(), _variables()
    trains = [
        tf.train.GradientDescentOptimizer(rate).apply_gradients(_gradients(variables))
        for rate, variables in ((0.1, one), (0.2, other))
    ]
    assert _grouped([], trains) == {"_GroupedApplyGradientDescent": 2}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(one)
        session.run(trains)
        for first, second, start in zip(*session.run([one, other]), before, strict=True):
            np.testing.assert_allclose(second - start, 2 * (first - start), rtol=1e-4, atol=1e-6)


def test_updates_of_another_dtype_or_with_locks_are_apart() -> None:
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    mixed = [*_variables(shapes=[[2]] * 4), *_variables(dtype=tf.float64, shapes=[[2]] * 4)]
    assert _grouped([], [optimizer.apply_gradients(_gradients(mixed))]) == {"_GroupedApplyGradientDescent": 2}
    locking = tf.train.GradientDescentOptimizer(0.5, use_locking=True)
    assert not _grouped([], [locking.apply_gradients(_gradients(_variables()))])


def test_updates_that_torch_has_no_kernel_of_lists_for_stay_alone() -> None:
    """Adam with Nesterov's momentum; Adagrad that leaves its accumulator as it is."""
    variables, ones = _variables(), [tf.Variable(tf.ones(shape)) for shape in _SHAPES]
    pairs, rate = _gradients(variables), tf.constant(0.1)
    adam = [
        tf.raw_ops.ApplyAdam(
            var=v, m=m, v=m, beta1_power=rate, beta2_power=rate, lr=rate, beta1=rate, beta2=rate, epsilon=rate,
            grad=g, use_nesterov=True,
        )
        for (g, v), m in zip(pairs, ones, strict=True)
    ]  # fmt: skip
    adagrad = [
        tf.raw_ops.ApplyAdagrad(var=v, accum=a, lr=rate, grad=g, update_slots=False)
        for (g, v), a in zip(pairs, ones, strict=True)
    ]
    assert not _grouped([], [u.op for u in adam])
    assert not _grouped([], [u.op for u in adagrad])


def test_an_update_whose_reference_is_taken_stays_alone() -> None:
    variables = _variables()
    updates = [tf.raw_ops.ApplyGradientDescent(var=v, alpha=0.5, delta=g) for g, v in _gradients(variables)]
    fetched = _ops(_after([], [updates[0]], [u.op for u in updates]))
    assert (fetched["_GroupedApplyGradientDescent"], fetched["ApplyGradientDescent"]) == (1, 1)
    taken = _ops(_after([], [tf.exp(updates[1])], [u.op for u in updates]))
    assert (taken["_GroupedApplyGradientDescent"], taken["ApplyGradientDescent"]) == (1, 1)


def test_updates_on_other_devices_are_other_groups() -> None:
    updates = []
    for device in ("/cpu:0", "/cpu:1"):
        with tf.device(device):
            variables = _variables()
            optimizer = tf.train.GradientDescentOptimizer(0.5)
            updates.append(optimizer.apply_gradients(_gradients(variables)))
    assert _grouped([], updates) == {"_GroupedApplyGradientDescent": 2}
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf.global_variables_initializer())
        before = session.run(variables)
        session.run(updates)
        for now, start, (gradient, _) in zip(session.run(variables), before, _gradients(variables), strict=True):
            np.testing.assert_allclose(now, start - 0.5 * session.run(gradient), rtol=1e-5, atol=1e-6)


def test_updates_in_branches_run_only_there() -> None:
    variables, x = _variables(shapes=[[2]] * 5), tf.placeholder(tf.bool, [])

    def update() -> Any:
        train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.ones([2]), v) for v in variables])
        with tf.control_dependencies([train]):
            return tf.constant(1)

    branch = tf.cond(x, update, lambda: tf.constant(0))
    assert not _grouped([branch], [], [x])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(variables)
        assert session.run(branch, {x: False}) == 0
        np.testing.assert_array_equal(session.run(variables), before)
        assert session.run(branch, {x: True}) == 1
        np.testing.assert_allclose(session.run(variables), np.array(before) - 1, rtol=1e-6)


def test_updates_in_loops_run_in_each_iteration() -> None:
    variables = _scalars(5)

    def body(i: Any) -> Any:
        with tf.control_dependencies([_descend(variables, tf.constant(1.0), tf.constant(2.0))]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    assert not _grouped([loop], [])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(loop) == 3
        np.testing.assert_array_equal(session.run(variables), [-6] * 5)


# --- order ----------------------------------------------------------------------------------------------


def test_updates_that_wait_for_others_are_another_group() -> None:
    r"""first x 4 -> NoOp -> second x 4, of the same variables: the second ones see what the first ones did."""
    variables, rate, ones = [tf.Variable([1.0, 2.0]) for _ in range(4)], tf.constant(0.5), tf.ones([2])
    first = _descend(variables, rate, ones)
    with tf.control_dependencies([first]):
        second = tf.group(
            *(tf.raw_ops.ApplyGradientDescent(var=v, alpha=rate, delta=v.read_value()) for v in variables)
        )
    assert _grouped([], [second]) == {"_GroupedApplyGradientDescent": 2}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(second)
        np.testing.assert_allclose(session.run(variables), [[0.25, 0.75]] * 4)


def test_updates_of_other_variables_that_wait_for_others_are_another_group() -> None:
    first, second, rate, one = _scalars(4), _scalars(4), tf.constant(1.0), tf.constant(1.0)
    update = _descend(first, rate, one)
    with tf.control_dependencies([update]):
        later = _descend(second, rate, one + first[0].read_value())
    assert _grouped([], [later]) == {"_GroupedApplyGradientDescent": 2}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(later)
        np.testing.assert_array_equal(session.run([*first, *second]), [-1] * 4 + [0] * 4)


def test_two_updates_of_one_variable_are_in_two_groups() -> None:
    variables, rate = _scalars(4), tf.constant(1.0)
    updates = [_descend(variables, rate, tf.constant(1.0)), _descend(variables, rate, tf.constant(10.0))]
    assert _grouped([], updates) == {"_GroupedApplyGradientDescent": 2}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(updates)
        np.testing.assert_array_equal(session.run(variables), [-11] * 4)


def test_updates_before_and_after_a_loop_are_apart_though_no_edge_says_so_but_the_one_that_leads_back() -> None:
    """x comes out of the loop, and only y, which is added to it in each iteration, waits for the first updates."""
    first, second, rate = _scalars(4), _scalars(4), tf.constant(1.0)
    five = tf.constant(5.0)
    update = _descend(first, rate, tf.constant(1.0))
    with tf.control_dependencies([update]):
        y = tf.identity(five) + first[0].read_value()
    x = tf.while_loop(lambda i, x, y: i < 3, lambda i, x, y: (i + 1, x + y, y), [0, 0.0, y])[1]
    later = _descend(second, rate, x)
    assert _grouped([], [later]) == {"_GroupedApplyGradientDescent": 2}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(later)
        np.testing.assert_array_equal(session.run(second), [-12] * 4)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_read_between_updates_have_the_values_of_that_moment(use_resource: bool) -> None:
    """Built in this order: updates of the first four; reads of the first and the last; updates of the last four."""
    variables = [tf.Variable([float(i)], use_resource=use_resource) for i in range(8)]
    gradient, optimizer = tf.constant([10.0]), tf.train.GradientDescentOptimizer(1.0)
    first = optimizer.apply_gradients([(gradient, v) for v in variables[:4]])
    seen = [variables[0].read_value(), variables[7].read_value()]
    rest = optimizer.apply_gradients([(gradient, v) for v in variables[4:]])
    assert sum(_grouped(seen, [first, rest]).values()) == 1
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, _ = session.run([seen, tf.group(first, rest)])
        np.testing.assert_array_equal(found, [[-10.0], [7.0]])
        np.testing.assert_array_equal(np.ravel(session.run(variables)), np.arange(8) - 10)


def test_gradients_that_are_other_variables_are_read_before_they_change() -> None:
    """Each is moved along the next: read when the step begins, whatever the order of the updates."""
    variables = [tf.Variable([float(2**i)]) for i in range(5)]
    values = [tf.identity(v) for v in variables]
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients(
        list(zip(values[1:] + values[:1], variables, strict=True))
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(np.ravel(session.run(variables)), [-1, -2, -4, -8, 15])


def test_what_waits_for_one_update_waits_for_its_group() -> None:
    variables = _variables()
    updates = [tf.raw_ops.ApplyGradientDescent(var=v, alpha=0.5, delta=g) for g, v in _gradients(variables)]
    one = tf.constant(1.0)
    with tf.control_dependencies([updates[2]]):
        after = tf.identity(one)
    graph = _after([], [after], [u.op for u in updates])
    (group,) = [node for node in graph.nodes if node.op.name == "_GroupedApplyGradientDescent"]
    assert graph.fetches[0].node.controls == (group,)
    assert graph.targets == [group]


def test_a_rate_that_changes_between_reads_parts_groups() -> None:
    """Two halves of the variables with a rate that is read before and after it was set, as it was built."""
    early, late, one = _scalars(4), _scalars(4), tf.constant(1.0)
    rate: Any = tf.Variable(1.0, use_resource=True)
    first, again, changed, last = (
        tf.raw_ops.ReadVariableOp(resource=rate.handle, dtype=tf.float32) if change is None else rate.assign(change).op
        for change in (None, None, 10.0, None)
    )
    updates = [_descend(early[:2], first, one), _descend(early[2:], again, one), _descend(late, last, one)]
    assert _grouped([], [*updates, changed]) == {"_GroupedApplyGradientDescent": 2}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([*updates, changed])
        np.testing.assert_array_equal(session.run([*early, *late]), [-1] * 4 + [-10] * 4)


def test_updates_by_gradients_that_leave_a_loop_come_after_all_of_it() -> None:
    """h = tanh(a * h + b) - c * h + d, three times; updates compared with finite differences."""
    start = [0.3, -0.2, 0.5, 0.1]
    variables = [tf.Variable(tf.constant([x], tf.float64)) for x in start]
    a, b, c, d = variables
    final = tf.while_loop(
        lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(a * h + b) - c * h + d), [0, tf.ones([1], tf.float64)]
    )[1]
    train = tf.train.GradientDescentOptimizer(1.0).minimize(final[0])

    def value(at: np.ndarray) -> float:
        h = 1.0
        for _ in range(3):
            h = np.tanh(at[0] * h + at[1]) - at[2] * h + at[3]
        return h

    slopes = [(value(start + step) - value(start - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert "_grouped" in session.explain(train)
        session.run(train)
        np.testing.assert_allclose(np.ravel(session.run(variables)), np.array(start) - slopes, rtol=1e-7)


# --- what does not fit ----------------------------------------------------------------------------------


def test_a_variable_that_is_not_initialized_is_named_and_the_others_stay_as_they_are() -> None:
    variables = [tf.Variable([1.0], name=f"weights_{i}") for i in range(5)]
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.ones([1]), v) for v in variables])
    with tf.Session() as session:
        session.run([v.initializer for v in variables if "3" not in v.name])
        with pytest.raises(tf.errors.FailedPreconditionError, match="weights_3"):
            session.run(train)
        session.run(variables[3].initializer)
        np.testing.assert_array_equal(session.run(variables), [[1.0]] * 5)


def test_gradients_that_lie_otherwise_in_memory_are_taken_as_they_are() -> None:
    variables = [tf.Variable(np.zeros([2, 3], np.float32)) for _ in range(5)]
    value = np.arange(6, dtype=np.float32).reshape(3, 2)
    x = tf.placeholder(tf.float32, [3, 2])
    train = tf.train.MomentumOptimizer(1.0, 0.9).apply_gradients([(tf.transpose(x), v) for v in variables])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert "_grouped" in session.explain(train, [x])
        session.run(train, {x: value})
        np.testing.assert_array_equal(session.run(variables), [-value.T] * 5)


def test_a_variable_that_has_got_another_shape_is_an_error_and_not_written_beyond() -> None:
    variables = [tf.Variable([1.0, 2.0]) for _ in range(5)]
    train = tf.train.MomentumOptimizer(1.0, 0.9).apply_gradients([(tf.ones([2]), v) for v in variables])
    smaller = tf.assign(variables[2], [1.0], validate_shape=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(smaller)
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            session.run(train)
