"""Optimizers: steps, slots, their names, hooks for users' own, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.ops import training_formulas as formulas

START = np.array([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], np.float32)
KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


def quadratic(w: Any) -> tf.Tensor:
    """A loss whose gradient is 2 * w."""
    return tf.reduce_sum(w * w)


# --- each optimizer does its formula --------------------------------------------------------------------

Step = Callable[[int, np.ndarray, list[np.ndarray], np.ndarray], tuple[np.ndarray, list[np.ndarray]]]


def _plain(formula: Callable[..., formulas.State], before: tuple = (), after: tuple = ()) -> Step:
    def step(t: int, w: np.ndarray, slots: list[np.ndarray], g: np.ndarray) -> Any:
        w, *slots = formula(w, *slots, *before, g, *after)
        return w, slots

    return step


def _adam(t: int, w: np.ndarray, slots: list[np.ndarray], g: np.ndarray) -> Any:
    w, *slots = formulas.adam(w, *slots, 0.9 ** (t + 1), 0.999 ** (t + 1), 0.1, 0.9, 0.999, 1e-8, g)
    return w, slots


OPTIMIZERS: dict[str, tuple[Callable[[], Any], list[float], list[str], Step]] = {
    "descent": (lambda: tf.train.GradientDescentOptimizer(0.1), [], [], _plain(formulas.gradient_descent, (0.1,))),
    "momentum": (
        lambda: tf.train.MomentumOptimizer(0.1, 0.9), [0.0], ["w/Momentum"],
        _plain(formulas.momentum, (0.1,), (0.9,)),
    ),
    "nesterov": (
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), [0.0], ["w/Momentum"],
        _plain(formulas.nesterov_momentum, (0.1,), (0.9,)),
    ),
    "adagrad": (lambda: tf.train.AdagradOptimizer(0.1), [0.1], ["w/Adagrad"], _plain(formulas.adagrad, (0.1,))),
    "adadelta": (
        lambda: tf.train.AdadeltaOptimizer(0.5), [0.0, 0.0], ["w/Adadelta", "w/Adadelta_1"],
        _plain(formulas.adadelta, (0.5, 0.95, 1e-8)),
    ),
    "adam": (lambda: tf.train.AdamOptimizer(0.1), [0.0, 0.0], ["w/Adam", "w/Adam_1"], _adam),
    "rmsprop": (
        lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5), [1.0, 0.0], ["w/RMSProp", "w/RMSProp_1"],
        _plain(formulas.rms_prop, (0.1, 0.9, 0.5, 1e-10)),
    ),
    "ftrl": (
        lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01), [0.1, 0.0], ["w/Ftrl", "w/Ftrl_1"],
        lambda t, w, s, g: (lambda r: (r[0], list(r[1:])))(formulas.ftrl(w, *s, g, 0.1, 0.01, 0.0, -0.5)),
    ),
    "proximal descent": (
        lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.2, 0.3), [], [],
        _plain(formulas.proximal_gradient_descent, (0.1, 0.2, 0.3)),
    ),
    "proximal adagrad": (
        lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.2, 0.3), [0.1], ["w/ProximalAdagrad"],
        _plain(formulas.proximal_adagrad, (0.1, 0.2, 0.3)),
    ),
}  # fmt: skip


@KINDS
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_steps_follow_the_formula(name: str, use_resource: bool, session: tf.Session) -> None:
    make, starts, slot_names, formula = OPTIMIZERS[name]
    w = tf.Variable(START, name="w", use_resource=use_resource)
    optimizer = make()
    train = optimizer.minimize(quadratic(w))
    session.run(tf.global_variables_initializer())
    expected, slots = START.astype(np.float64), [np.full(START.shape, s) for s in starts]
    for t in range(3):
        session.run(train)
        expected, slots = formula(t, expected, slots, 2 * expected)
    np.testing.assert_allclose(session.run(w), expected, rtol=1e-4, atol=1e-6)
    own = [v for v in optimizer.variables() if v.op.name.startswith("w/")]
    assert [v.op.name for v in own] == slot_names


@KINDS
def test_centered_rmsprop_has_a_third_slot(use_resource: bool, session: tf.Session) -> None:
    w = tf.Variable(START, name="w", use_resource=use_resource)
    train = tf.train.RMSPropOptimizer(0.1, centered=True).minimize(quadratic(w))
    session.run(tf.global_variables_initializer())
    session.run(train)
    zeros = np.zeros_like(START)
    expected = formulas.centered_rms_prop(START, zeros, zeros + 1, zeros, 0.1, 0.9, 0.0, 1e-10, 2 * START)
    np.testing.assert_allclose(session.run(w), expected[0], rtol=1e-5)
    assert [v.op.name for v in tf.global_variables()] == ["w", "w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"]


def test_adagrad_da_takes_the_global_step(session: tf.Session) -> None:
    w, step = tf.Variable(START, name="w"), tf.train.get_or_create_global_step()
    train = tf.train.AdagradDAOptimizer(0.1, step, 0.1, 0.01, 0.02).minimize(quadratic(w), global_step=step)
    session.run(tf.global_variables_initializer())
    w_now, g, s = START, np.zeros_like(START), np.full_like(START, 0.1)
    for t in range(2):
        session.run(train)
        w_now, g, s = formulas.adagrad_da(w_now, g, s, 2 * w_now, 0.1, 0.01, 0.02, t + 1)
    np.testing.assert_allclose(session.run(w), w_now, rtol=1e-5)


# --- sparse gradients -----------------------------------------------------------------------------------

SPARSE = [n for n in OPTIMIZERS if n not in ("adam", "proximal descent", "proximal adagrad")]


@KINDS
@pytest.mark.parametrize("name", SPARSE)
def test_a_gather_changes_only_its_rows_and_adds_repeats_up(name: str, use_resource: bool, session: tf.Session) -> None:
    make, starts, _, formula = OPTIMIZERS[name]
    w = tf.Variable(START, name="w", use_resource=use_resource)
    train = make().minimize(tf.reduce_sum(tf.gather(w, [2, 0, 2])))
    session.run(tf.global_variables_initializer())
    session.run(train)
    gradient = np.array([[1.0, 1.0], [2.0, 2.0]])
    changed, _ = formula(0, START[[0, 2]].astype(float), [np.full((2, 2), s) for s in starts], gradient)
    np.testing.assert_allclose(session.run(w), [changed[0], START[1], changed[1]], rtol=1e-5)


@KINDS
def test_adam_with_a_sparse_gradient_moves_all_rows_as_with_a_dense_one(
    use_resource: bool, session: tf.Session
) -> None:
    w = tf.Variable(START, name="w", use_resource=use_resource)
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(w, [2, 0, 2])))
    session.run(tf.global_variables_initializer())
    expected, slots = START.astype(np.float64), [np.zeros(START.shape)] * 2
    for t in range(3):
        session.run(train)
        expected, slots = _adam(t, expected, slots, np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]))
    np.testing.assert_allclose(session.run(w), expected, rtol=1e-4)


# --- names and collections ------------------------------------------------------------------------------


def test_adam_names_variables_and_nodes_as_tensorflow_does(graph: tf.Graph) -> None:
    w = tf.Variable([1.0], name="w")
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer().minimize(quadratic(w), global_step=step)
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["w", "global_step", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]
    assert tf.trainable_variables() == [w]
    assert (train.name, train.type) == ("Adam", "AssignAdd")
    assert graph.get_operation_by_name("Adam/update_w/ApplyAdam").inputs[0].op is w.op
    assert graph.get_operation_by_name("Adam/update").type == "NoOp"
    for name in ("Adam/learning_rate", "Adam/beta1", "Adam/beta2", "Adam/epsilon", "Adam/value"):
        assert graph.get_operation_by_name(name).type == "Const"
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]


def test_slots_keep_their_names_inside_name_scopes_and_follow_variable_scopes() -> None:
    with tf.variable_scope("layer"):
        w = tf.get_variable("w", [2])
    with tf.name_scope("train"):
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(quadratic(w))
    assert [v.op.name for v in tf.global_variables()] == ["layer/w", "layer/w/Momentum"]
    with tf.variable_scope("outer"):
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(quadratic(w))
    assert tf.global_variables()[-1].op.name == "outer/layer/w/Momentum"


def test_two_optimizers_have_slots_of_their_own() -> None:
    w = tf.Variable([1.0], name="w")
    first, second = tf.train.AdamOptimizer(), tf.train.AdamOptimizer(name="Second")
    first.minimize(quadratic(w))
    second.minimize(quadratic(w))
    assert first.get_slot(w, "m").op.name == "w/Adam"
    assert second.get_slot(w, "v").op.name == "w/Second_1"
    assert first.get_slot_names() == ["m", "v"]
    assert first.get_slot(w, "nothing") is None
    assert [v.name for v in first.variables()] == ["beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0"]


def test_a_slot_is_colocated_with_its_variable() -> None:
    with tf.device("/device:CPU:0"):
        w = tf.Variable([1.0], name="w")
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(quadratic(w))
    assert b"loc:@w" in optimizer.get_slot(w, "momentum").op.colocation_groups()


# --- the two halves -------------------------------------------------------------------------------------


def test_gradients_can_be_changed_between_the_halves(session: tf.Session) -> None:
    w, unused = tf.Variable([3.0, -4.0]), tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(quadratic(w), [w, unused])
    assert pairs[1] == (None, unused)
    train = optimizer.apply_gradients([(None if g is None else g * 0.25, v) for g, v in pairs])
    session.run(tf.global_variables_initializer())
    session.run(train)
    np.testing.assert_allclose(session.run(w), [1.5, -2.0])


@pytest.mark.parametrize(
    "gate", [tf.train.Optimizer.GATE_NONE, tf.train.Optimizer.GATE_OP, tf.train.Optimizer.GATE_GRAPH]
)
def test_every_kind_of_gating_gives_the_same_step(gate: int, session: tf.Session) -> None:
    w, b = tf.Variable([3.0]), tf.Variable([2.0])
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w * b), gate_gradients=gate)
    session.run(tf.global_variables_initializer())
    session.run(train)
    np.testing.assert_allclose(session.run([w, b]), [[2.0], [0.5]])


def test_all_gradients_are_of_the_values_before_the_step(session: tf.Session) -> None:
    """Each variable's gradient needs the other, which is updated in place."""
    w, b = tf.Variable(np.full(100, 3.0, np.float32)), tf.Variable(np.full(100, 2.0, np.float32))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w * b))
    session.run(tf.global_variables_initializer())
    session.run(train)
    assert (session.run(w) == 2.0).all()
    assert (session.run(b) == 0.5).all()


def test_the_global_step_counts_and_grad_loss_scales(session: tf.Session) -> None:
    w, step = tf.Variable([1.0]), tf.Variable(0, trainable=False)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(quadratic(w), global_step=step, grad_loss=tf.constant(0.25))
    session.run(tf.global_variables_initializer())
    assert [session.run([train, step])[0] for _ in range(3)] == [None] * 3
    assert session.run(step) == 3
    np.testing.assert_allclose(session.run(w), [0.125])


@KINDS
def test_the_learning_rate_may_be_a_placeholder_a_variable_or_a_function(
    use_resource: bool, session: tf.Session
) -> None:
    w = tf.Variable([1.0], use_resource=use_resource)
    fed, held = tf.placeholder(tf.float32, []), tf.Variable(0.25, trainable=False, use_resource=use_resource)
    loss = quadratic(w)
    steps = [
        tf.train.GradientDescentOptimizer(rate).minimize(loss, var_list=[w]) for rate in (fed, held, lambda: 0.125)
    ]
    session.run(tf.global_variables_initializer())
    session.run(steps[0], {fed: 0.25})
    np.testing.assert_allclose(session.run(w), [0.5])
    session.run(steps[1])
    np.testing.assert_allclose(session.run(w), [0.25])
    session.run(steps[2])
    np.testing.assert_allclose(session.run(w), [0.1875])


def test_doubles_are_trained_with_casts_of_the_hyperparameters(session: tf.Session) -> None:
    w = tf.Variable(np.array([1.0, 2.0]))
    train = tf.train.AdamOptimizer(0.5).minimize(quadratic(w))
    session.run(tf.global_variables_initializer())
    session.run(train)
    np.testing.assert_allclose(session.run(w), [0.5, 1.5], atol=1e-6)


@KINDS
def test_a_constraint_is_applied_after_the_update(use_resource: bool, session: tf.Session) -> None:
    w = tf.Variable([1.0, -1.0], constraint=lambda v: tf.maximum(v, 0.0), use_resource=use_resource)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(quadratic(w))
    session.run(tf.global_variables_initializer())
    session.run(train)
    np.testing.assert_allclose(session.run(w), [0.5, 0.0])


def test_a_variable_of_unknown_shape_gets_slots(session: tf.Session) -> None:
    start = tf.placeholder_with_default(START, [None, 2])
    w = tf.Variable(start, validate_shape=False, name="w")
    optimizer = tf.train.AdagradOptimizer(0.1)
    pairs = optimizer.compute_gradients(tf.reduce_sum(w * w), [w])
    train = optimizer.apply_gradients(pairs)
    session.run(w.initializer)
    session.run(tf.global_variables_initializer())
    session.run(train)
    expected, _ = formulas.adagrad(START, np.full_like(START, 0.1), 0.1, 2 * START)
    np.testing.assert_allclose(session.run(w), expected, rtol=1e-5)


# --- users' own optimizers ------------------------------------------------------------------------------


class SignDescent(tf.train.Optimizer):
    """What a user writes: a slot, tensors of the hyperparameters, one update of each kind, something at the end."""

    def __init__(self, rate: float) -> None:
        super().__init__(False, "SignDescent")
        self._rate = rate

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "count", "Count")
        self._create_non_slot_variable(0.0, "steps", var_list[0])

    def _prepare(self) -> None:
        self._rate_t = tf.convert_to_tensor(self._rate, name="rate")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        count = self.get_slot(var, "count").assign_add(tf.ones_like(grad))
        return tf.group(count, var.assign_sub(self._rate_t * tf.sign(grad)))

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        return self._apply_dense(grad, handle)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_dense(tf.convert_to_tensor(grad), var)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            steps = self._get_non_slot_variable("steps", graph=tf.get_default_graph())
            return tf.group(*update_ops, steps.assign_add(1.0), name=name_scope)


@KINDS
def test_a_subclass_by_hooks_trains(use_resource: bool, session: tf.Session) -> None:
    w = tf.Variable([3.0, -4.0], name="w", use_resource=use_resource)
    optimizer = SignDescent(0.5)
    train = optimizer.minimize(quadratic(w))
    session.run(tf.global_variables_initializer())
    for _ in range(2):
        session.run(train)
    np.testing.assert_allclose(session.run(w), [2.0, -3.0])
    np.testing.assert_allclose(session.run(optimizer.get_slot(w, "count")), [2.0, 2.0])
    assert session.run("steps:0" if not use_resource else optimizer.variables()[0]) == 2.0
    assert [v.name for v in optimizer.variables()] == ["steps:0", "w/Count:0"]


def test_a_subclass_gets_sparse_gradients_without_repeats(session: tf.Session) -> None:
    w = tf.Variable([[3.0], [4.0]])
    train = SignDescent(1.0).minimize(tf.reduce_sum(tf.gather(w, [1, 1])))
    session.run(tf.global_variables_initializer())
    session.run(train)
    np.testing.assert_allclose(session.run(w), [[3.0], [3.0]])


# --- errors ---------------------------------------------------------------------------------------------


def test_a_loss_without_variables_is_an_error_that_says_so() -> None:
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match=r"No variables to optimize\."):
        optimizer.minimize(tf.constant(1.0))
    w = tf.Variable(1.0)
    with pytest.raises(ValueError, match="No gradients provided for any variable, check your graph"):
        optimizer.minimize(tf.constant(1.0))
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: "):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match=r"No variables provided\."):
        optimizer.apply_gradients([])


def test_arguments_that_do_not_fit_are_refused() -> None:
    w = tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="gate_gradients must be one of"):
        optimizer.compute_gradients(quadratic(w), gate_gradients=7)
    with pytest.raises(TypeError, match=r"Argument is not a tf\.Variable"):
        optimizer.compute_gradients(quadratic(w), var_list=[3.0])
    with pytest.raises(ValueError, match="Invalid type"):
        optimizer.compute_gradients(tf.constant(1))
    with pytest.raises(TypeError, match="Gradient must be convertible"):
        optimizer.apply_gradients([(object(), w)])
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        tf.train.GradientDescentOptimizer(0.1, name="")
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive"):
        tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0)
    with pytest.raises(NotImplementedError, match="_apply_dense"):
        tf.train.Optimizer(False, "Base").minimize(quadratic(w))


def test_training_an_uninitialised_variable_names_it(session: tf.Session) -> None:
    w = tf.Variable(1.0, name="weights")
    train = tf.train.AdamOptimizer().minimize(quadratic(w))
    with pytest.raises(tf.errors.FailedPreconditionError, match="weights"):
        session.run(train)


def test_the_base_of_each_optimizer_is_optimizer_itself() -> None:
    names = [name for name in dir(tf.train) if name.endswith("Optimizer") and name != "Optimizer"]
    assert len(names) > 9
    assert {getattr(tf.train, name).__base__ for name in names} == {tf.train.Optimizer}


def test_minimize_names_the_arguments_of_overridden_methods() -> None:
    """As TensorFlow 1.15 does: subclasses take the rest of them as **kwargs."""
    seen: dict[str, Any] = {}

    class Own(tf.train.GradientDescentOptimizer):
        def compute_gradients(self, loss: Any, var_list: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            seen.update(kwargs)
            return [(2 * g, v) for g, v in super().compute_gradients(loss, var_list, **kwargs) if g is not None]

        def apply_gradients(self, grads_and_vars: Any, **kwargs: Any) -> Any:
            seen.update(kwargs)
            return super().apply_gradients(grads_and_vars, **kwargs)

    w = tf.Variable([3.0])
    step = Own(0.25).minimize(quadratic(w), name="step")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        assert sess.run(w).tolist() == [0.0]
    assert sorted(seen) == [
        "aggregation_method",
        "colocate_gradients_with_ops",
        "gate_gradients",
        "global_step",
        "grad_loss",
        "name",
    ]
