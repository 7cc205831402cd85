"""Metrics that layers and models add. Values are those of TensorFlow 1.15."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

L = tf.keras.layers
RANDOM = np.random.RandomState(0)
X, Y = RANDOM.rand(10, 4).astype("f"), RANDOM.rand(10, 1).astype("f")


class MeanOfInputs(L.Layer):
    def call(self, inputs: Any) -> Any:
        self.add_metric(tf.reduce_mean(inputs, -1), name="mean_of_inputs", aggregation="mean")
        return 2 * inputs


class Model(tf.keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = L.Dense(1, kernel_initializer="ones")
        self.layer = MeanOfInputs()
        self.mean = tf.keras.metrics.Mean(name="mean")
        self.sum = tf.keras.metrics.Sum(name="sum")

    def call(self, inputs: Any) -> Any:
        outputs = self.dense(self.layer(inputs))
        self.add_metric(self.mean(outputs))
        self.sum(outputs)  # an attribute, which needs not be added
        self.add_metric(tf.reduce_sum(outputs), name="sum_of_batch", aggregation="mean")
        return outputs


def of_tensors() -> Any:
    """A model of layers, with metrics that are added before and after `compile`."""
    x = tf.keras.Input((4,))
    inside = L.Dense(3, kernel_initializer="ones")(x)
    model = tf.keras.Model(x, L.Dense(1, kernel_initializer="ones")(inside))
    model.add_metric(tf.reduce_sum(inside), name="scalar", aggregation="mean")
    model.compile(tf.keras.optimizers.SGD(0.0), "mse", metrics=["mae"])
    assert model.metrics_names == ["loss", "mean_absolute_error", "scalar"]
    model.add_metric(tf.reduce_sum(inside, -1), name="vector", aggregation="mean")
    return model


def test_metrics_of_a_models_tensors_are_means_over_steps_of_scalars_and_over_elements() -> None:
    model = of_tensors()
    wanted = {"loss": 43.84272, "mean_absolute_error": 6.50538, "scalar": 22.98801, "vector": 6.8964}
    assert model.metrics_names == list(wanted)
    history = model.fit(X, Y, batch_size=4, epochs=2, verbose=0, validation_data=(X, Y), shuffle=False).history
    assert list(history) == [*wanted, *(f"val_{name}" for name in wanted)]
    for name, values in history.items():
        np.testing.assert_allclose(values, [wanted[name.removeprefix("val_")]] * 2, rtol=1e-5)
    np.testing.assert_allclose(model.evaluate(X, Y, batch_size=4, verbose=0), list(wanted.values()), rtol=1e-5)
    assert "scalar" not in model.to_json()


def test_steps_of_their_own_go_on_with_metrics_until_they_are_reset() -> None:
    """`evaluate` leaves its metrics, and steps reset them at their end by default. Losses are those of a batch."""
    model = of_tensors()
    model.evaluate(X, Y, batch_size=4, verbose=0)
    first, second = (X[:3], Y[:3]), (X[3:6], Y[3:6])
    found = [
        model.train_on_batch(*first),
        model.train_on_batch(*second),
        model.train_on_batch(*first, reset_metrics=False),
        model.train_on_batch(*second, reset_metrics=False),
        model.test_on_batch(*first),
        model.test_on_batch(*first),
        model.test_on_batch(*first, sample_weight=np.array([0.0, 1, 1])),
    ]
    wanted = [
        [48.778698, 6.6149573, 22.849716, 7.030682],
        [47.022633, 6.7067223, 21.517797, 7.1725993],
        [48.778698, 6.980225, 22.434849, 7.4782825],
        [47.022633, 6.843474, 21.976322, 7.325441],
        [48.778698, 6.8890576, 22.129166, 7.3763876],
        [48.778698, 6.980225, 22.434849, 7.4782825],
        [33.02147, 6.980225, 22.434849, 7.4782825],
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_metrics_that_layers_add_in_their_calls_are_reported_and_metric_objects_begin_anew_with_each_step() -> None:
    of_layers = [MeanOfInputs(input_shape=(4,)), L.Dense(1, kernel_initializer="ones")]
    model = tf.keras.Sequential(of_layers)
    model.compile("sgd", "mse", metrics=[tf.keras.metrics.MeanAbsoluteError(name="error")])
    assert model.metrics_names == ["loss", "error", "mean_of_inputs"]
    found = [model.test_on_batch(X, Y), model.test_on_batch(X[:2], Y[:2])]
    np.testing.assert_allclose(found, [[18.29343, 4.2065763, 0.57470024], [19.470943, 4.4122887, 0.6013198]], rtol=1e-5)


def test_models_with_a_call_report_metrics_of_theirs_under_the_names_that_tensorflow_has_there() -> None:
    """It names the layers' first and computes the model's own first: "mean_of_inputs" is the value of "mean"."""
    model = Model()
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    history = model.fit(X, Y, batch_size=5, epochs=2, verbose=0, shuffle=False).history
    wanted = {
        "loss": 18.293428, "mean_of_inputs": 4.5976014, "mean": 45.976013, "sum": 22.988007, "sum_of_batch": 0.5747002,
    }  # fmt: skip
    assert list(history) == model.metrics_names == list(wanted)
    for name, values in history.items():
        np.testing.assert_allclose(values, [wanted[name]] * 2, rtol=1e-5)
    found = [model.train_on_batch(X[:5], Y[:5]), model.train_on_batch(X[5:], Y[5:])]
    wanted_of_steps = [
        [17.953033, 4.652438, 23.262192, 23.262192, 0.5815548],  # with those of fit, if they were not reset
        [18.633823, 4.542764, 22.713821, 22.713821, 0.5678455],
    ]
    model.reset_metrics()
    np.testing.assert_allclose(found[1], wanted_of_steps[1], rtol=1e-5)
    np.testing.assert_allclose(model.test_on_batch(X[:5], Y[:5]), wanted_of_steps[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"aggregation": "sum", "name": "a"}, "only `mean` sample-wise"),
        ({"aggregation": "mean"}, "provide a name"),
        ({"name": "a"}, "aggregated metric result tensor that is not the output"),
    ],
)
def test_what_is_no_mean_and_no_metric_objects_result_cannot_be_added(arguments: Any, reason: str) -> None:
    x = tf.keras.Input((4,))
    outputs = L.Dense(1)(x)
    model = tf.keras.Model(x, outputs)
    with pytest.raises(ValueError, match=reason):
        model.add_metric(tf.reduce_sum(outputs), **arguments)
    with pytest.raises(ValueError, match="symbolic Tensor"):
        model.add_metric(3.0, name="a", aggregation="mean")
    with pytest.raises(ValueError, match="calling a `Metric` object"):
        model.add_metric(tf.keras.metrics.Mean()(outputs))


def test_estimators_of_models_do_not_report_what_layers_add(tmp_path: Any) -> None:
    """So it is in TensorFlow 1.15."""
    first = MeanOfInputs(input_shape=(4,))
    model = tf.keras.Sequential([first, L.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse", metrics=["mae"])
    estimator = tf.keras.estimator.model_to_estimator(
        model, model_dir=str(tmp_path), custom_objects={"MeanOfInputs": MeanOfInputs}
    )

    def input_fn() -> Any:
        return tf.data.Dataset.from_tensors(({first.name + "_input": X}, Y))

    estimator.train(input_fn, steps=1)
    assert set(estimator.evaluate(input_fn)) == {"loss", "mean_absolute_error", "global_step"}
