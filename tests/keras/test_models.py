"""Models of layers: their weights and names, training, and what `fit` takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

K = tf.keras.backend
L = tf.keras.layers
X = np.random.RandomState(0).uniform(-1, 1, (50, 6)).astype(np.float32)
Y = (X @ np.arange(1, 7)[:, None] / 10).astype(np.float32)


def small(**kwargs: Any) -> Any:
    model = tf.keras.Sequential([L.Dense(4, activation="tanh", input_shape=(6,)), L.Dense(1)])
    model.compile(kwargs.pop("optimizer", "sgd"), kwargs.pop("loss", "mse"), **kwargs)
    return model


# --- names and weights ----------------------------------------------------------------------------------


def test_variables_are_named_by_their_layers_which_are_counted_from_zero() -> None:
    heads = [L.Dense(2), L.Dense(1, name="head"), L.BatchNormalization()]
    model = tf.keras.Sequential([L.Embedding(5, 3), L.LSTM(4), *heads])
    model.build((None, 7))
    assert [w.name for w in model.weights] == [
        "embedding/embeddings:0", "lstm/kernel:0", "lstm/recurrent_kernel:0", "lstm/bias:0", "dense/kernel:0",
        "dense/bias:0", "head/kernel:0", "head/bias:0", "batch_normalization/gamma:0", "batch_normalization/beta:0",
        "batch_normalization/moving_mean:0", "batch_normalization/moving_variance:0",
    ]  # fmt: skip
    assert [tuple(w.shape) for w in model.get_weights()[1:4]] == [(3, 16), (4, 16), (16,)]
    np.testing.assert_array_equal(model.get_weights()[3], [0] * 4 + [1] * 4 + [0] * 8)  # the forget gate's bias
    assert model.count_params() == sum(w.size for w in model.get_weights())


def test_a_class_that_begins_with_an_underscore_names_layers_as_in_keras() -> None:
    class _Add(tf.keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return inputs[0] + inputs[1]

    both = [tf.keras.Input([2]), tf.keras.Input([2])]
    assert _Add()(both).name == "private__add/add:0"
    assert [_Add().name, tf.keras.layers.MaxPooling2D().name] == ["private__add_1", "max_pooling2d"]


def test_layers_of_a_functional_model_come_in_keras_order() -> None:
    a, b = tf.keras.Input((3,), name="a"), tf.keras.Input((3,), name="b")
    shared = L.Dense(3, name="shared")
    x = L.Dense(3, name="first")(shared(a))
    y = shared(b)
    model = tf.keras.Model([a, b], L.Dense(1, name="out")(L.add([x, y], name="sum")))
    assert [layer.name for layer in model.layers] == ["a", "shared", "b", "first", "sum", "out"]
    assert len(model.trainable_weights) == 6


def test_a_layer_that_is_not_trained_keeps_its_weights_and_batch_statistics() -> None:
    frozen, normal = L.Dense(4, input_shape=(6,)), L.BatchNormalization()
    model = tf.keras.Sequential([frozen, normal, L.Dense(1)])
    frozen.trainable = normal.trainable = False
    model.compile("sgd", "mse")
    before = [*frozen.get_weights(), *normal.get_weights()]
    model.fit(X, Y, verbose=0)
    for old, new in zip(before, [*frozen.get_weights(), *normal.get_weights()], strict=True):
        np.testing.assert_array_equal(old, new)
    assert len(model.trainable_weights) == 2


def test_set_weights_says_which_shape_is_wrong_and_changes_nothing() -> None:
    model = small()
    weights = model.get_weights()
    with pytest.raises(ValueError, match=r"\(6, 4\).*\(4, 6\)"):
        model.set_weights([w.T for w in weights])
    for old, new in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_tensor_that_is_computed_from_no_input_is_refused_as_an_output() -> None:
    x = tf.keras.Input((3,))
    with pytest.raises(ValueError, match="Lambda"):
        tf.keras.Model(x, tf.nn.relu(tf.placeholder(tf.float32, [None, 3])))
    with pytest.raises(ValueError, match="Graph disconnected"):
        tf.keras.Model(x, L.Dense(2)(tf.keras.Input((3,))))


# --- training -------------------------------------------------------------------------------------------


def test_a_step_of_fit_is_the_gradient_step_of_the_mean_loss() -> None:
    model = tf.keras.Sequential([L.Dense(1, input_shape=(6,), kernel_regularizer=tf.keras.regularizers.l2(0.1))])
    model.compile(tf.keras.optimizers.SGD(0.5), "mse")
    kernel, bias = model.get_weights()
    error = X @ kernel + bias - Y
    loss = model.train_on_batch(X, Y)
    np.testing.assert_allclose(loss, np.mean(error**2) + 0.1 * np.sum(kernel**2), rtol=1e-5)
    wanted = kernel - 0.5 * (2 * X.T @ error / len(X) + 0.2 * kernel)
    np.testing.assert_allclose(model.get_weights()[0], wanted, rtol=1e-4, atol=1e-6)


def test_fit_returns_the_history_of_losses_and_metrics_and_learns() -> None:
    model = small(optimizer=tf.keras.optimizers.Adam(0.02), metrics=["mae"])
    history = model.fit(X, Y, batch_size=16, epochs=12, validation_split=0.2, verbose=0)
    assert set(history.history) == {"loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error"}
    assert history.epoch == list(range(12))
    assert history.history["val_loss"][-1] < history.history["val_loss"][0] / 2
    assert model.metrics_names == ["loss", "mean_absolute_error"]


def test_the_logged_loss_is_the_mean_over_samples_not_batches() -> None:
    model = small(optimizer=tf.keras.optimizers.SGD(0.0))
    history = model.fit(X, Y, batch_size=16, verbose=0)  # batches of 16, 16, 16 and 2
    exact = np.mean((model.predict(X) - Y) ** 2)
    np.testing.assert_allclose(history.history["loss"][0], exact, rtol=1e-5)
    np.testing.assert_allclose(model.evaluate(X, Y, batch_size=7, verbose=0), exact, rtol=1e-5)


def test_the_validation_data_are_the_last_samples() -> None:
    model = small(optimizer=tf.keras.optimizers.SGD(0.0))
    history = model.fit(X, Y, validation_split=0.3, verbose=0)
    exact = np.mean((model.predict(X[35:]) - Y[35:]) ** 2)
    np.testing.assert_allclose(history.history["val_loss"][0], exact, rtol=1e-5)


def test_weights_of_samples_and_classes_scale_losses() -> None:
    model = tf.keras.Sequential([L.Dense(3, activation="softmax", input_shape=(6,))])
    model.compile(tf.keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy", metrics=["acc"])
    labels = np.arange(50) % 3
    losses = -np.log(model.predict(X)[np.arange(50), labels])
    weights = np.linspace(0, 2, 50)
    got = model.train_on_batch(X, labels, sample_weight=weights)
    np.testing.assert_allclose(got[0], np.mean(losses * weights), rtol=1e-5)
    got = model.train_on_batch(X, labels, class_weight={0: 1.0, 1: 2.0, 2: 0.0})
    np.testing.assert_allclose(got[0], np.mean(losses * np.array([1.0, 2.0, 0.0])[labels]), rtol=1e-5)
    got = model.test_on_batch(X, labels)
    np.testing.assert_allclose(got, [losses.mean(), np.mean(model.predict_on_batch(X).argmax(1) == labels)], rtol=1e-5)


@pytest.mark.parametrize("keepdims", [False, True])
def test_programs_add_metrics_to_the_lists_of_a_compiled_model(keepdims: bool) -> None:
    """As Keras 2.2.5 and tf.keras until 1.12 did: a tensor in `metrics_tensors`, its name in `metrics_names`."""
    K = tf.keras.backend
    x = tf.keras.Input((4,))
    inside = L.Dense(3, kernel_initializer="ones")(x)
    model = tf.keras.Model(x, L.Dense(1, kernel_initializer="ones")(inside))
    model.compile(tf.keras.optimizers.SGD(0.0), "mse", metrics=["mae"])
    assert len(model.metrics_tensors) == 1
    model.train_on_batch(np.ones((2, 4)), np.ones((2, 1)))
    model.metrics_names.append("squares")
    model.metrics_tensors.append(K.mean(K.square(inside), keepdims=keepdims))
    ones = np.ones((4, 4)), np.ones((4, 1))
    wanted = {"loss": 121.0, "mean_absolute_error": 11.0, "squares": 16.0}  # 3 * 4 is 11 too much
    history = model.fit(*ones, verbose=0, batch_size=2, validation_data=ones).history
    assert history == {name: [value] for key, value in wanted.items() for name in (key, f"val_{key}")}
    assert dict(zip(model.metrics_names, model.evaluate(*ones, verbose=0), strict=True)) == wanted
    weighted = model.train_on_batch(*ones, sample_weight=np.full(4, 0.5))
    assert [float(np.mean(value)) for value in weighted] == [60.5, 11.0, 16.0]


def test_class_weights_that_are_no_dict_have_no_effect() -> None:
    """So it is in TensorFlow 1.15 and Keras 2.2.5, for the array that scikit-learn computes, too."""
    model = tf.keras.Sequential([L.Dense(3, activation="softmax", input_shape=(6,))])
    model.compile(tf.keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
    labels = np.arange(50) % 3
    plain = model.train_on_batch(X, labels)
    factors = {0: 1.0, 1: 2.0, 2: 5.0}
    for given in (np.array([1.0, 2.0, 5.0]), [1.0, 2.0, 5.0], (1.0, 2.0, 5.0), "auto"):
        with pytest.warns(UserWarning, match="no effect"):
            np.testing.assert_allclose(model.train_on_batch(X, labels, class_weight=given), plain, rtol=1e-6)
    weighted = model.train_on_batch(X, labels, class_weight=factors)
    np.testing.assert_allclose(model.train_on_batch(X, labels, class_weight=[factors]), weighted, rtol=1e-6)
    assert abs(weighted - plain) > 0.1


@pytest.mark.parametrize(
    ("loss", "activation", "classes", "expected"),
    [
        ("categorical_crossentropy", "softmax", 3, "categorical_accuracy"),
        ("sparse_categorical_crossentropy", "softmax", 3, "sparse_categorical_accuracy"),
        ("binary_crossentropy", "sigmoid", 1, "binary_accuracy"),
    ],
)  # fmt: skip
def test_accuracy_is_the_one_that_suits_the_loss(loss: str, activation: str, classes: int, expected: str) -> None:
    model = tf.keras.Sequential([L.Dense(classes, activation=activation, input_shape=(6,))])
    model.compile("sgd", loss, metrics=["accuracy"])
    labels = np.arange(50) % max(classes, 2)
    targets = tf.keras.utils.to_categorical(labels) if loss.startswith("categ") else labels
    got = model.evaluate(X, targets, batch_size=50, verbose=0)
    outputs = model.predict(X)
    found = outputs.argmax(1) if classes > 1 else (outputs[:, 0] > 0.5).astype(int)
    np.testing.assert_allclose(got[1], np.mean(found == labels), rtol=1e-6)
    assert model.metrics_names == ["loss", "acc"]


def test_several_outputs_have_their_losses_weights_and_metrics_by_name() -> None:
    x = tf.keras.Input((6,))
    one, two = L.Dense(1, name="one")(x), L.Dense(2, name="two")(x)
    model = tf.keras.Model(x, [one, two])
    model.compile("sgd", {"one": "mse", "two": "mae"}, loss_weights={"one": 2.0, "two": 0.5}, metrics={"two": "mse"})
    assert model.metrics_names == ["loss", "one_loss", "two_loss", "two_mean_squared_error"]
    targets = {"one": Y, "two": np.tile(Y, 2)}
    total, first, second, squared = model.evaluate(X, targets, batch_size=50, verbose=0)
    np.testing.assert_allclose(total, 2 * first + 0.5 * second, rtol=1e-5)
    np.testing.assert_allclose(squared, np.mean((model.predict(X)[1] - Y) ** 2), rtol=1e-5)
    with pytest.raises(ValueError, match="three"):
        model.compile("sgd", {"three": "mse"})


def test_batch_statistics_follow_the_data_in_fit_but_not_in_evaluate() -> None:
    layer = L.BatchNormalization(momentum=0.5, input_shape=(6,))
    model = tf.keras.Sequential([layer])
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    model.evaluate(X, X, verbose=0)
    np.testing.assert_array_equal(layer.get_weights()[2], np.zeros(6))
    model.train_on_batch(X, X)
    np.testing.assert_allclose(layer.get_weights()[2], X.mean(0) / 2, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.get_weights()[3], 0.5 + X.var(0) / 2, rtol=2e-2)


def test_dropout_is_for_training_only_and_the_phase_can_be_fed() -> None:
    model = tf.keras.Sequential([L.Dropout(0.5, input_shape=(6,))])
    np.testing.assert_array_equal(model.predict(X), X)
    run = K.function([model.input, K.learning_phase()], [model.output])
    np.testing.assert_array_equal(run([X, 0])[0], X)
    dropped = run([X, 1])[0]
    assert 0.3 < np.mean(dropped == 0) < 0.7
    np.testing.assert_allclose(dropped[dropped != 0], 2 * X[dropped != 0], rtol=1e-6)


def test_a_stateful_layer_goes_on_from_batch_to_batch_until_it_is_reset() -> None:
    model = tf.keras.Sequential([L.LSTM(3, stateful=True, batch_input_shape=(2, 4, 5))])
    x = np.random.rand(2, 4, 5)
    whole = tf.keras.Sequential([L.LSTM(3, input_shape=(8, 5))])
    whole.set_weights(model.get_weights())
    first, second = model.predict(x), model.predict(x)
    np.testing.assert_allclose(second, whole.predict(np.concatenate([x, x], 1)), rtol=1e-5, atol=1e-6)
    assert not np.allclose(first, second)
    model.reset_states()
    np.testing.assert_allclose(model.predict(x), first, rtol=1e-6)


def test_a_mask_excludes_steps_from_the_loss() -> None:
    model = tf.keras.Sequential([L.Embedding(5, 3, mask_zero=True, input_length=4), L.TimeDistributed(L.Dense(1))])
    model.compile("sgd", "mse")
    x = np.array([[1, 2, 0, 0], [3, 4, 1, 0]])
    y = np.ones((2, 4, 1))
    errors = ((model.predict(x) - y) ** 2)[..., 0] * (x != 0)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), errors.mean(), rtol=1e-5)


# --- models in models -----------------------------------------------------------------------------------


def test_masks_of_layers_with_several_outputs_may_be_none_or_lists_of_none() -> None:
    class Both(L.Layer):
        def call(self, inputs: Any, mask: Any = None) -> Any:
            assert mask is None  # where no input has one, whatever they are in
            return [inputs[0] * 2, inputs[0] * 3]

        def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
            return [[None], mask]

    x = tf.keras.Input((6,))
    model = tf.keras.Model(x, Both()([x]))
    model.compile("sgd", "mse")
    _, first, second = model.evaluate(X, [X, X], batch_size=50, verbose=0)
    np.testing.assert_allclose([first, second], [np.mean(X**2), np.mean((2 * X) ** 2)], rtol=1e-5)


def test_a_model_is_a_layer_with_its_own_weights_and_updates() -> None:
    inner = tf.keras.Sequential([L.Dense(3, input_shape=(6,)), L.BatchNormalization()])
    x = tf.keras.Input((6,))
    outer = tf.keras.Model(x, L.Dense(1)(inner(x)))
    outer.compile("sgd", "mse")
    before = inner.get_weights()
    outer.train_on_batch(X, Y)
    changed = [not np.array_equal(a, b) for a, b in zip(before, inner.get_weights(), strict=True)]
    assert all(changed)
    assert len(outer.updates) == 2
    of_outer = K.function([x], [outer.layers[1].get_output_at(-1)])([X])[0]
    np.testing.assert_allclose(inner.predict(X), of_outer, rtol=1e-5)


def test_a_generator_is_trained_through_a_discriminator_that_is_not() -> None:
    generator = tf.keras.Sequential([L.Dense(6, input_shape=(2,))])
    judge = tf.keras.Sequential([L.Dense(1, activation="sigmoid", input_shape=(6,))])
    judge.compile("sgd", "binary_crossentropy")
    judge.trainable = False
    z = tf.keras.Input((2,))
    both = tf.keras.Model(z, judge(generator(z)))
    both.compile("sgd", "binary_crossentropy")
    before = judge.get_weights(), generator.get_weights()
    both.train_on_batch(np.ones((4, 2)), np.ones(4))
    np.testing.assert_array_equal(before[0][0], judge.get_weights()[0])
    assert not np.array_equal(before[1][0], generator.get_weights()[0])
    judge.trainable = True
    judge.train_on_batch(X, np.ones(50))
    assert not np.array_equal(before[0][0], judge.get_weights()[0])


def test_a_subclass_with_a_call_is_built_by_its_first_data() -> None:
    class Net(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__(name="net")
            self.hidden = [L.Dense(4, activation="relu") for _ in range(2)]
            self.out = L.Dense(1)

        def call(self, inputs: Any, training: Any = None) -> Any:
            for layer in self.hidden:
                inputs = layer(inputs)
            return self.out(inputs)

    model = Net()
    model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
    history = model.fit(X, Y, epochs=5, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert [w.name for w in model.weights][:2] == ["net/dense/kernel:0", "net/dense/bias:0"]
    assert model.predict(X).shape == (50, 1)


def test_a_subclass_trains_its_batch_statistics_and_regularised_weights() -> None:
    class Net(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.normal = L.BatchNormalization(momentum=0.5)
            self.out = L.Dense(1, kernel_regularizer=tf.keras.regularizers.l2(0.1))

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.out(self.normal(inputs, training=training))

    model = Net()
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    loss = model.train_on_batch(X, Y)
    np.testing.assert_allclose(model.normal.get_weights()[2], X.mean(0) / 2, rtol=1e-4, atol=1e-6)
    normal = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-3)
    kernel, bias = model.out.get_weights()
    expected = np.mean((normal @ kernel + bias - Y) ** 2) + 0.1 * np.sum(kernel**2)
    np.testing.assert_allclose(loss, expected, rtol=1e-4)


def test_a_model_without_an_input_shape_is_built_by_datasets_and_generators() -> None:
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)
    for source in (data, iter([(X, Y), (X, Y)])):
        model = tf.keras.Sequential([L.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(source, steps_per_epoch=2, verbose=0)
        assert model.input_shape == (None, 6)


def test_a_layer_of_ones_own_needs_only_build_and_call() -> None:
    class Scale(L.Layer):
        def __init__(self, start: float, **kwargs: Any) -> None:
            self.start = start
            super().__init__(**kwargs)

        def build(self, input_shape: Any) -> None:
            constant = tf.keras.initializers.Constant(self.start)
            self.factor = self.add_weight(name="factor", shape=(input_shape[-1],), initializer=constant)
            super().build(input_shape)

        def call(self, x: Any) -> Any:
            return x * self.factor

    model = tf.keras.Sequential([Scale(3.0, input_shape=(6,))])
    np.testing.assert_allclose(model.predict(X), 3 * X, rtol=1e-6)
    again = tf.keras.models.model_from_json(model.to_json(), {"Scale": Scale})
    np.testing.assert_allclose(again.predict(X), 3 * X, rtol=1e-6)


def test_layers_of_tf_layers_can_be_in_a_sequential() -> None:
    model = tf.keras.Sequential([L.InputLayer((6,)), tf.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert model.fit(X, Y, epochs=3, verbose=0).history["loss"][-1] < 10
    assert len(model.trainable_weights) == 2


def test_a_sequential_may_begin_with_what_keras_input_made() -> None:
    x = tf.keras.Input((6,))
    model = tf.keras.Sequential([x, L.Dense(1, "relu", kernel_initializer="ones")])
    assert model.inputs == [x] and len(model.layers) == 1
    np.testing.assert_allclose(model.predict(X), np.maximum(X.sum(1, keepdims=True), 0), rtol=1e-5)
    with pytest.raises(TypeError, match="must be an instance of class Layer"):
        tf.keras.Sequential([L.Dense(1)(x)])


# --- what fit takes -------------------------------------------------------------------------------------


def test_generators_sequences_and_datasets_train_like_arrays() -> None:
    class Batches(tf.keras.utils.Sequence):
        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: int) -> Any:
            return X[index * 10 : index * 10 + 10], Y[index * 10 : index * 10 + 10]

    def forever() -> Iterator[Any]:
        while True:
            yield from (Batches()[i] for i in range(5))

    def trained(**kwargs: Any) -> list[Any]:
        K.clear_session()
        model = small()
        model.set_weights([np.full(w.shape, 0.1) for w in model.get_weights()])
        x = kwargs.pop("x")()
        (model.fit_generator if kwargs.pop("generator", False) else model.fit)(x, epochs=2, verbose=0, **kwargs)
        return model.get_weights()

    arrays = trained(x=lambda: X, y=Y, batch_size=10, shuffle=False)
    others = [
        trained(x=forever, generator=True, steps_per_epoch=5),
        trained(x=Batches, generator=True, shuffle=False, workers=2),
        trained(x=lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(10).repeat(), steps_per_epoch=5),
        trained(x=lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)),
    ]
    for weights in others:
        for a, b in zip(arrays, weights, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_an_error_in_a_generator_reaches_fit() -> None:
    def broken() -> Iterator[Any]:
        yield X, Y
        raise KeyError("no more files")

    with pytest.raises(KeyError, match="no more files"):
        small().fit_generator(broken(), steps_per_epoch=3, verbose=0)


def test_numbers_of_classes_may_lack_a_last_dimension() -> None:
    """As in tf.keras of TensorFlow 1.15, also from a dataset; the loss is cross entropy of each step of a sequence."""
    words = np.arange(12).reshape(2, 6) % 5
    model = tf.keras.Sequential([L.Embedding(5, 4, input_length=6), L.Dense(5, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    odds = model.predict(words)
    expected = -np.log(np.take_along_axis(odds, words[..., None], -1)).mean()
    right = (odds.argmax(-1) == words).mean()
    pairs = tf.data.Dataset.from_tensor_slices((words, words)).batch(2)
    for result in (
        model.evaluate(words, words, verbose=0),
        model.evaluate(words, words[..., None], verbose=0),
        model.evaluate(pairs, steps=1, verbose=0),
    ):
        assert np.allclose(result, [expected, right], atol=1e-5)


def test_targets_of_most_losses_are_broadcast() -> None:
    """As in tf.keras of TensorFlow 1.15 (not in Keras 2.2.5), where only three losses ask for the outputs' shape."""
    model = tf.keras.Sequential([L.Dense(5, input_shape=(6,))])
    model.compile("sgd", "mae")
    assert np.isclose(model.evaluate(X, Y, verbose=0), np.abs(model.predict(X) - Y).mean(), atol=1e-5)
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"to have shape \(5,\) but got array with shape \(1,\)"):
        model.evaluate(X, Y, verbose=0)


def test_arrays_that_do_not_fit_are_refused_with_both_shapes() -> None:
    model = small()
    with pytest.raises(ValueError, match=r"expected dense_input to have shape \(6,\) but got array with shape \(3,\)"):
        model.fit(X[:, :3], Y, verbose=0)
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(X, Y[:7], verbose=0)
    with pytest.raises(ValueError, match="expected dense_1 to have shape"):
        model.fit(X, np.ones((50, 2)), verbose=0)
    with pytest.raises(ValueError, match="Expected to see 1 array"):
        model.fit([X, X], Y, verbose=0)
    with pytest.raises(RuntimeError, match="compile"):
        tf.keras.Sequential([L.Dense(1, input_shape=(6,))]).fit(X, Y)


def test_one_train_function_serves_all_batches() -> None:
    model = small()
    model.fit(X, Y, batch_size=10, epochs=2, verbose=0)
    nodes = len(K.get_session().graph.get_operations())
    model.fit(X, Y, batch_size=10, epochs=2, verbose=0)
    model.evaluate(X, Y, verbose=0)
    after = len(K.get_session().graph.get_operations())
    model.evaluate(X, Y, verbose=0)
    assert len(K.get_session().graph.get_operations()) == after
    assert after - nodes < 3


def test_fit_runs_in_the_session_of_the_program() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        K.set_session(session)
        x = tf.placeholder(tf.float32, [None, 6])
        model = tf.keras.Sequential([L.InputLayer(input_tensor=x), L.Dense(1)])
        model.compile("sgd", "mse")
        K.get_session()
        np.testing.assert_allclose(session.run(model.output, {x: X}), model.predict(X), rtol=1e-6, atol=1e-6)


def test_layers_alone_are_functions_of_tensors_in_a_program_without_models() -> None:
    x = tf.placeholder(tf.float32, [None, 6])
    hidden = L.Dense(4, activation="relu")(x)
    loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(tf.constant(Y), L.Dense(1)(hidden)))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss, {x: X})
        for _ in range(20):
            session.run(step, {x: X})
        assert session.run(loss, {x: X}) < first


def test_summary_is_a_table_of_layers_shapes_and_numbers_of_weights(capsys: pytest.CaptureFixture[str]) -> None:
    small().summary()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'Model: "sequential"'
    assert lines[2] == "Layer (type)                 Output Shape              Param #   "
    assert lines[4] == "dense (Dense)                (None, 4)                 28        "
    assert "Total params: 33" in lines


def test_fit_prints_lines_as_keras_does(capsys: pytest.CaptureFixture[str]) -> None:
    small(metrics=["mae"]).fit(X, Y, epochs=2, validation_split=0.2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Train on 40 samples, validate on 10 samples", "Epoch 1/2"]
    assert lines[2].startswith("40/40 [==============================] - 0s ")
    shown = [part.split(":")[0] for part in lines[2].split(" - ")[2:]]
    assert shown == ["loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error"]


def test_a_model_made_of_tensors_has_these_as_its_first_call() -> None:
    x, layer = tf.keras.Input((4,)), tf.keras.layers.Dense(3)
    model = tf.keras.Model(x, layer(x))
    assert model.get_output_at(-1) is model.output and model.get_input_shape_at(0) == (None, 4)
    again = model(tf.keras.Input((4,)))
    assert model.get_output_at(1) is again and model.get_output_shape_at(-1) == (None, 3)
    with pytest.raises(ValueError, match="call 5 of dense"):
        layer.get_output_at(5)
