"""Programs whose values depend on which updates a read of a reference variable shows, and what TensorFlow 2.21 gives.

Each is built in the TF 1.x API by a function of the module `tf`, which gives what to fetch; `GIVES` has the values of
three steps in a row. `python -m tests.engine.read_programs` prints them where TensorFlow is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(fn: Program) -> Program:
    PROGRAMS[fn.__name__] = fn
    return fn


def _after(tf: Any, *done: Any) -> Any:
    return tf.control_dependencies(list(done))


# --- one update and who waits for it --------------------------------------------------------------------


@program
def arithmetic_after_an_update(tf: Any) -> Any:
    v = tf.Variable(1.0)
    with _after(tf, tf.assign_add(v, 2.0)):
        return v * 10.0


@program
def an_identity_after_an_update(tf: Any) -> Any:
    v = tf.Variable(1.0)
    with _after(tf, tf.assign_add(v, 2.0)):
        return tf.identity(v)


@program
def an_assignment_after_an_update(tf: Any) -> Any:
    v = tf.Variable(1.0)
    with _after(tf, tf.assign_add(v, 2.0)):
        return tf.assign(v, v * 10.0)


@program
def a_read_before_an_update_used_after_it(tf: Any) -> Any:
    v = tf.Variable(1.0)
    y = tf.identity(v)
    with _after(tf, y):
        update = tf.assign_add(v, 2.0)
    with _after(tf, update):
        return y + 0.0


@program
def a_consumer_that_the_update_waits_for(tf: Any) -> Any:
    v = tf.Variable(1.0)
    before = v * 10.0
    with _after(tf, before):
        update = tf.assign_add(v, 2.0)
    with _after(tf, update):
        return [before, v * 10.0]


@program
def an_update_by_the_value_of_another(tf: Any) -> Any:
    v, w = tf.Variable(1.0), tf.Variable(5.0)
    step = tf.assign_add(v, 1.0) * 3.0
    return [tf.assign_sub(w, step) + 0.0, step + v]


@program
def a_reshaped_read(tf: Any) -> Any:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    flat, wide = tf.reshape(v, [-1]), tf.expand_dims(tf.identity(v), 0)
    with _after(tf, flat, wide):
        update = tf.scatter_update(v, [1], [[7.0, 8.0]])
    with _after(tf, update):
        return [flat + 0.0, wide * 2.0, tf.squeeze(wide) - 1.0]


@program
def views_of_a_read(tf: Any) -> Any:
    v = tf.Variable([1.0, -2.0])
    raw = tf.raw_ops
    views = [
        tf.stop_gradient(v), raw.PreventGradient(input=v, message=""), tf.check_numerics(v, "v"),
        tf.placeholder_with_default(v, [2]), tf.bitcast(tf.bitcast(v, tf.int32), tf.float32),
        tf.ensure_shape(v, [2]), *tf.tuple([v, v * 1.0])[:1], tf.identity_n([v, v])[1],
    ]  # fmt: skip
    with _after(tf, *views):
        update = tf.assign_add(v, [1.0, 1.0])
    with _after(tf, update):
        return [view * 1.0 for view in views]


@program
def a_read_that_keeps_what_it_computed(tf: Any) -> Any:
    v = tf.Variable([1.0, 2.0])
    copies = [v * 1.0, tf.gather(v, [1]), tf.nn.relu(v), tf.concat([v, v], 0)]
    with _after(tf, *copies):
        update = tf.assign_add(v, [1.0, 1.0])
    with _after(tf, update):
        return [copy * 1.0 for copy in copies]


@program
def two_updates_of_one_variable(tf: Any) -> Any:
    v = tf.Variable(1.0)
    read = v.value()
    with _after(tf, tf.assign_add(v, 1.0)):
        first = read * 1.0
        with _after(tf, first):
            second = tf.assign(v, read * 10.0)
    with _after(tf, second):
        return [first, read * 1.0]


@program
def a_reference_used_after_a_later_update(tf: Any) -> Any:
    v = tf.Variable(1.0)
    first = tf.assign_add(v, 1.0)
    with _after(tf, first):
        second = tf.assign(v, first * 10.0)
    with _after(tf, second):
        return [first * 2.0, tf.identity(first) + v]


# --- training -------------------------------------------------------------------------------------------


@program
def clipping_after_a_train_op(tf: Any) -> Any:
    w = tf.Variable(2.0)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w)
    with _after(tf, train):
        return w.assign(tf.clip_by_value(w, -5.0, 5.0)) + 0.0


@program
def a_moving_average_under_the_train_op(tf: Any) -> Any:
    v = tf.Variable(1.0)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(v * v)
    average = tf.train.ExponentialMovingAverage(0.5)
    with _after(tf, train):
        update = average.apply([v])
    with _after(tf, update):
        return [average.average(v) + 0.0, v + 0.0]


@program
def two_moving_averages_in_one_step(tf: Any) -> Any:
    v = tf.Variable(1.0)
    fast, slow = tf.train.ExponentialMovingAverage(0.5), tf.train.ExponentialMovingAverage(0.75)
    with _after(tf, tf.assign_add(v, 1.0)):
        first = fast.apply([v])
    with _after(tf, first):
        second = slow.apply([v])
    with _after(tf, second):
        return [fast.average(v) + 0.0, slow.average(v) + 0.0]


@program
def the_global_step_after_the_train_op(tf: Any) -> Any:
    w = tf.Variable([1.0, 2.0])
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(w * w)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
    with _after(tf, train):
        return [tf.identity(step), tf.cast(step, tf.float32) + 0.0, tf.reduce_sum(w * w)]


@program
def normalising_by_updated_moments(tf: Any) -> Any:
    x = tf.constant([2.0, 4.0])
    mean, count = tf.Variable(0.0), tf.Variable(0.0)
    update = tf.group(tf.assign_add(count, 1.0), tf.assign_add(mean, tf.reduce_mean(x)))
    with _after(tf, update):
        return (x - mean) / count


@program
def two_optimizers_one_after_the_other(tf: Any) -> Any:
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    first = tf.train.GradientDescentOptimizer(0.25).minimize(a * b, var_list=[a])
    with _after(tf, first):
        loss = a * b
        second = tf.train.AdagradOptimizer(0.5).minimize(loss, var_list=[b])
    with _after(tf, second):
        return [loss, a + 0.0, b + 0.0]


@program
def rows_after_a_scatter(tf: Any) -> Any:
    v = tf.Variable([0.0, 0.0, 0.0])
    with _after(tf, tf.scatter_update(v, [1], [5.0])):
        first = v + 0.0
    with _after(tf, first):
        update = tf.scatter_add(v, [0, 0], [1.0, 2.0])
    with _after(tf, update):
        return [first, v + 0.0, tf.gather(v, [0])]


# --- conditionals ---------------------------------------------------------------------------------------


@program
def a_condition_on_a_counter_after_its_update(tf: Any) -> Any:
    c = tf.Variable(-1)
    with _after(tf, tf.assign_add(c, 1)):
        return tf.cond(tf.equal(c % 2, 0), lambda: tf.constant(0), lambda: tf.constant(1))


@program
def branches_that_take_what_was_updated_before(tf: Any) -> Any:
    v, up = tf.Variable(1.0), tf.Variable(0)
    odd = tf.equal(tf.assign_add(up, 1) % 2, 1)
    with _after(tf, tf.assign_add(v, 1.0)):
        return tf.cond(odd, lambda: v * 10.0, lambda: tf.identity(v)) + 0.0


@program
def an_update_in_a_branch(tf: Any) -> Any:
    v, turn = tf.Variable(1.0), tf.Variable(0)
    read = v.value()
    odd = tf.equal(tf.assign_add(turn, 1) % 2, 1)
    done = tf.cond(odd, lambda: tf.assign_add(v, 10.0) + 0.0, lambda: tf.constant(0.0))
    with _after(tf, done):
        return [read + 0.0, v * 2.0]


@program
def a_branch_that_updates_and_reads(tf: Any) -> Any:
    v, turn = tf.Variable(1.0), tf.Variable(0)
    odd = tf.equal(tf.assign_add(turn, 1) % 2, 1)

    def changed() -> Any:
        with _after(tf, tf.assign_add(v, 10.0)):
            return v * 2.0

    return tf.cond(odd, changed, lambda: tf.constant(-1.0))


@program
def either_of_two_variables(tf: Any) -> Any:
    a, b, turn = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(0)
    odd = tf.equal(tf.assign_add(turn, 1) % 2, 1)
    one = tf.cond(odd, lambda: tf.identity(a), lambda: tf.identity(b))
    with _after(tf, one):
        update = tf.group(tf.assign_add(a, 10.0), tf.assign_add(b, 100.0))
    with _after(tf, update):
        return one + 0.0


@program
def a_variable_or_something_else(tf: Any) -> Any:
    a, turn = tf.Variable([1.0, 2.0]), tf.Variable(0)
    odd = tf.equal(tf.assign_add(turn, 1) % 2, 1)
    one = tf.cond(odd, lambda: tf.reshape(a, [2, 1]), lambda: tf.fill([2, 1], 7.0))
    one = tf.expand_dims(one, 0)
    with _after(tf, one):
        update = tf.assign_add(a, [10.0, 20.0])
    with _after(tf, update):
        return one + 0.0


@program
def a_branch_that_an_update_comes_before(tf: Any) -> Any:
    v, turn = tf.Variable(1.0), tf.Variable(0)
    read = v.value()
    odd = tf.equal(tf.assign_add(turn, 1) % 2, 1)
    one = tf.cond(odd, lambda: tf.constant(0.0), lambda: tf.constant(1.0))
    with _after(tf, one):
        held = read * 1.0
    with _after(tf, held):
        update = tf.assign_add(v, 10.0)
    both = tf.cond(odd, lambda: tf.identity(update) * 0.0, lambda: tf.identity(held))
    with _after(tf, both, update):
        return [held, both, read + 0.0]


# --- loops ----------------------------------------------------------------------------------------------


@program
def while_update_variable_1(tf: Any) -> Any:
    v = tf.Variable([3.0, 4.0, 5.0])

    def body(j: Any) -> Any:
        with _after(tf, tf.scatter_update(v, j, 10.0)):
            return tf.identity(j + 1)

    done = tf.while_loop(lambda j: j < 3, body, [tf.constant(0)])
    with _after(tf, done):
        return [done, v + 0.0]


@program
def while_update_variable_2(tf: Any) -> Any:
    v, w = tf.Variable([3.0, 4.0, 5.0]), tf.Variable([3.0, 4.0, 5.0])

    def body(j: Any) -> Any:
        with _after(tf, tf.scatter_update(v, j, 10.0), tf.scatter_update(w, j, 10.0)):
            return tf.identity(j + 1)

    done = tf.while_loop(lambda j: j < 3, body, [tf.constant(0)])
    with _after(tf, done):
        return [v + 0.0, w + 0.0]


@program
def while_update_variable_3(tf: Any) -> Any:
    v = tf.Variable([3.0, 4.0, 5.0])

    def body(j: Any, _: Any) -> Any:
        rows = tf.scatter_update(v, j, 10.0)
        with _after(tf, rows):
            return [j + 1, rows]

    return tf.while_loop(lambda j, _: j < 3, body, [tf.constant(0), tf.identity(v)])[1] + 0.0


@program
def while_update_variable_4(tf: Any) -> Any:
    a, b = tf.Variable(0), tf.Variable(0)
    first = tf.assign_add(a, 1)

    def body(i: Any) -> Any:
        with _after(tf, tf.assign_add(b, first)):
            return tf.add(i, 1)

    done = tf.while_loop(lambda i: i < 10, body, [tf.constant(0)], parallel_iterations=1)
    with _after(tf, done):
        return [tf.identity(done), b + 0]


@program
def while_update_variable_5(tf: Any) -> Any:
    a, b = tf.Variable(0), tf.Variable(0)

    def body(i: Any) -> Any:
        with _after(tf, tf.assign_add(a, 1), tf.assign_add(b, 1)):
            return tf.identity(b)

    done = tf.while_loop(lambda _: tf.less(b, 10), body, [b], parallel_iterations=1)
    with _after(tf, done):
        return [done + 0, a + 0, b + 0]


@program
def while_update_variable_6(tf: Any) -> Any:
    a, b, c = tf.Variable(0), tf.Variable(0), tf.Variable(0)

    def body(i: Any) -> Any:
        with _after(tf, tf.assign_add(a, 1)):
            second = tf.assign_add(b, a)
        with _after(tf, second):
            third = tf.assign_add(c, b)
        with _after(tf, third):
            return i + 1

    done = tf.while_loop(lambda i: i < 10, body, [0], parallel_iterations=1)
    with _after(tf, done):
        return [a + 0, b + 0, c + 0]


@program
def training_in_a_loop(tf: Any) -> Any:
    w = tf.Variable(1.0)

    def body(i: Any) -> Any:
        (gradient,) = tf.gradients(w * w, [w])
        with _after(tf, w.assign_sub(0.25 * gradient)):
            return i + 1

    done = tf.while_loop(lambda i: i < 3, body, [0], parallel_iterations=1)
    with _after(tf, done):
        return w + 0.0


@program
def a_read_before_a_loop_that_updates(tf: Any) -> Any:
    v = tf.Variable(1.0)
    read = v.value()

    def body(i: Any, total: Any) -> Any:
        with _after(tf, tf.assign_add(v, 1.0 + 0.0 * total)):
            more = total + read
        with _after(tf, more):
            return i + 1, tf.identity(more)

    _, total = tf.while_loop(lambda i, _: i < 3, body, [0, 0.0], parallel_iterations=1)
    with _after(tf, total):
        return [total, read * 1.0]


@program
def a_loop_variable_that_begins_as_a_read(tf: Any) -> Any:
    v = tf.Variable(1.0)

    def body(i: Any, x: Any) -> Any:
        with _after(tf, x), _after(tf, tf.assign_add(v, 10.0)):
            return i + 1, x * 2.0

    return tf.while_loop(lambda i, _: i < 3, body, [0, v], parallel_iterations=1)[1]


@program
def a_loop_variable_that_stays_a_read(tf: Any) -> Any:
    v = tf.Variable(1.0)

    def body(i: Any, x: Any) -> Any:
        with _after(tf, tf.assign_add(v, 10.0)):
            return i + 1, tf.identity(x)

    kept = tf.while_loop(lambda i, _: i < 3, body, [0, v], parallel_iterations=1)[1]
    with _after(tf, kept):
        update = tf.assign_add(v, 0.5)
    with _after(tf, update):
        return kept + 0.0


@program
def a_loop_variable_that_may_be_a_read(tf: Any) -> Any:
    v, most = tf.Variable(1.0), tf.Variable(-1)
    count = tf.assign_add(most, 1) + 0
    x = tf.while_loop(lambda i, _: i < count, lambda i, x: (i + 1, x + 1.0), [0, v])[1]
    with _after(tf, x):
        update = tf.assign_add(v, 100.0)
    with _after(tf, update):
        return x + 0.0


@program
def a_conditional_update_in_a_loop(tf: Any) -> Any:
    v = tf.Variable(0.0)
    read = v.value()

    def body(i: Any, total: Any) -> Any:
        done = tf.cond(tf.equal(i % 2, 0), lambda: tf.assign_add(v, 1.0) + 0.0, lambda: tf.constant(0.0))
        with _after(tf, done):
            more = total + read
        with _after(tf, more):
            return i + 1, tf.identity(more)

    _, total = tf.while_loop(lambda i, _: i < 4, body, [0, 0.0], parallel_iterations=1)
    with _after(tf, total):
        return [total, read + 0.0]


GIVES: dict[str, Any] = {
    "arithmetic_after_an_update": [30.0, 50.0, 70.0],
    "an_identity_after_an_update": [3.0, 5.0, 7.0],
    "an_assignment_after_an_update": [30.0, 320.0, 3220.0],
    "a_read_before_an_update_used_after_it": [3.0, 5.0, 7.0],
    "a_consumer_that_the_update_waits_for": [[10.0, 30.0], [30.0, 50.0], [50.0, 70.0]],
    "an_update_by_the_value_of_another": [[-1.0, 8.0], [-10.0, 12.0], [-22.0, 16.0]],
    "a_reshaped_read": [
        [[1.0, 2.0, 7.0, 8.0], [[[2.0, 4.0], [14.0, 16.0]]], [[0.0, 1.0], [6.0, 7.0]]],
        [[1.0, 2.0, 7.0, 8.0], [[[2.0, 4.0], [14.0, 16.0]]], [[0.0, 1.0], [6.0, 7.0]]],
        [[1.0, 2.0, 7.0, 8.0], [[[2.0, 4.0], [14.0, 16.0]]], [[0.0, 1.0], [6.0, 7.0]]],
    ],
    "views_of_a_read": [
        [[2.0, -1.0], [2.0, -1.0], [2.0, -1.0], [2.0, -1.0], [2.0, -1.0], [2.0, -1.0], [2.0, -1.0], [2.0, -1.0]],
        [[3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0]],
        [[4.0, 1.0], [4.0, 1.0], [4.0, 1.0], [4.0, 1.0], [4.0, 1.0], [4.0, 1.0], [4.0, 1.0], [4.0, 1.0]],
    ],
    "a_read_that_keeps_what_it_computed": [
        [[1.0, 2.0], [2.0], [1.0, 2.0], [1.0, 2.0, 1.0, 2.0]],
        [[2.0, 3.0], [3.0], [2.0, 3.0], [2.0, 3.0, 2.0, 3.0]],
        [[3.0, 4.0], [4.0], [3.0, 4.0], [3.0, 4.0, 3.0, 4.0]],
    ],
    "two_updates_of_one_variable": [[2.0, 20.0], [21.0, 210.0], [211.0, 2110.0]],
    "a_reference_used_after_a_later_update": [[40.0, 40.0], [420.0, 420.0], [4220.0, 4220.0]],
    "clipping_after_a_train_op": [1.600000023841858, 1.2799999713897705, 1.0239999294281006],
    "a_moving_average_under_the_train_op": [[0.0, -1.0], [0.5, 1.0], [-0.25, -1.0]],
    "two_moving_averages_in_one_step": [[1.5, 1.25], [2.25, 1.6875], [3.125, 2.265625]],
    "the_global_step_after_the_train_op": [
        [1, 1.0, 3.200000286102295],
        [2, 2.0, 1.058000087738037],
        [3, 3.0, 0.019220003858208656],
    ],
    "normalising_by_updated_moments": [[-1.0, 1.0], [-2.0, -1.0], [-2.3333332538604736, -1.6666666269302368]],
    "two_optimizers_one_after_the_other": [
        [1.0, 0.5, 1.577422857284546],
        [0.16664570569992065, 0.10564428567886353, 1.4895275831222534],
        [-0.39731302857398987, -0.26673761010169983, 1.6923691034317017],
    ],
    "rows_after_a_scatter": [
        [[0.0, 5.0, 0.0], [3.0, 5.0, 0.0], [3.0]],
        [[3.0, 5.0, 0.0], [6.0, 5.0, 0.0], [6.0]],
        [[6.0, 5.0, 0.0], [9.0, 5.0, 0.0], [9.0]],
    ],
    "a_condition_on_a_counter_after_its_update": [0, 1, 0],
    "branches_that_take_what_was_updated_before": [20.0, 3.0, 40.0],
    "an_update_in_a_branch": [[11.0, 22.0], [11.0, 22.0], [21.0, 42.0]],
    "a_branch_that_updates_and_reads": [22.0, -1.0, 42.0],
    "either_of_two_variables": [11.0, 202.0, 31.0],
    "a_variable_or_something_else": [[[[11.0], [22.0]]], [[[7.0], [7.0]]], [[[31.0], [62.0]]]],
    "a_branch_that_an_update_comes_before": [[1.0, 0.0, 11.0], [11.0, 11.0, 21.0], [21.0, 0.0, 31.0]],
    "while_update_variable_1": [[3, [10.0, 10.0, 10.0]], [3, [10.0, 10.0, 10.0]], [3, [10.0, 10.0, 10.0]]],
    "while_update_variable_2": [
        [[10.0, 10.0, 10.0], [10.0, 10.0, 10.0]],
        [[10.0, 10.0, 10.0], [10.0, 10.0, 10.0]],
        [[10.0, 10.0, 10.0], [10.0, 10.0, 10.0]],
    ],
    "while_update_variable_3": [[10.0, 10.0, 10.0], [10.0, 10.0, 10.0], [10.0, 10.0, 10.0]],
    "while_update_variable_4": [[10, 10], [10, 30], [10, 60]],
    "while_update_variable_5": [[10, 10, 10], [10, 10, 10], [10, 10, 10]],
    "while_update_variable_6": [[10, 55, 220], [20, 210, 1540], [30, 465, 4960]],
    "training_in_a_loop": [0.125, 0.015625, 0.001953125],
    "a_read_before_a_loop_that_updates": [[9.0, 4.0], [18.0, 7.0], [27.0, 10.0]],
    "a_loop_variable_that_begins_as_a_read": [88.0, 328.0, 568.0],
    "a_loop_variable_that_stays_a_read": [31.5, 62.0, 92.5],
    "a_loop_variable_that_may_be_a_read": [101.0, 102.0, 203.0],
    "a_conditional_update_in_a_loop": [[6.0, 2.0], [14.0, 4.0], [22.0, 6.0]],
}
"""What TensorFlow 2.21 gives, in each of three steps."""


def _main() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    for name, build in PROGRAMS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            fetches = build(tf)
            session.run(tf.global_variables_initializer())
            steps = [session.run(fetches) for _ in range(3)]
            print(f"    {name!r}: {[_plain(step) for step in steps]},")


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, list) else value.tolist()


if __name__ == "__main__":
    _main()
