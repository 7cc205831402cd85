"""Models and weights in files: HDF5 in Keras' layout, checkpoints, descriptions."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.keras.test_layer_values import inputs_for

h5py = pytest.importorskip("h5py")
K = tf.keras.backend
L = tf.keras.layers
X = np.random.RandomState(0).uniform(-1, 1, (20, 6)).astype(np.float32)
Y = X[:, :1] * 2


def small() -> Any:
    model = tf.keras.Sequential([L.Dense(4, activation="tanh", input_shape=(6,)), L.BatchNormalization(), L.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    return model


def test_a_loaded_model_goes_on_training_as_if_it_had_never_been_saved(tmp_path: Path) -> None:
    model = small()
    model.fit(X, Y, epochs=2, shuffle=False, verbose=0)
    model.save(tmp_path / "model.h5")
    again = tf.keras.models.load_model(tmp_path / "model.h5")
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    for one in (model, again):
        one.fit(X, Y, epochs=2, shuffle=False, verbose=0)
    for a, b in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert again.metrics_names == ["loss", "mean_absolute_error"]


def test_the_file_has_keras_groups_attributes_and_names(tmp_path: Path) -> None:
    model = small()
    model.train_on_batch(X, Y)
    model.save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5") as file:
        assert json.loads(file.attrs["model_config"])["class_name"] == "Sequential"
        assert json.loads(file.attrs["training_config"])["optimizer_config"]["class_name"] == "Adam"
        weights = file["model_weights"]
        assert [name.decode() for name in weights.attrs["layer_names"]] == ["dense", "batch_normalization", "dense_1"]
        names = [name.decode() for name in weights["dense"].attrs["weight_names"]]
        assert names == ["dense/kernel:0", "dense/bias:0"]
        np.testing.assert_array_equal(weights["dense"]["dense/kernel:0"][()], model.get_weights()[0])
        assert len(file["optimizer_weights"].attrs["weight_names"]) == 1 + 2 * 6


@pytest.mark.parametrize("name", ["weights.h5", "weights"])
def test_weights_go_to_hdf5_or_to_a_checkpoint_by_the_name(tmp_path: Path, name: str) -> None:
    model = small()
    model.fit(X, Y, verbose=0)
    model.save_weights(str(tmp_path / name))
    other = small()
    other.load_weights(str(tmp_path / name))
    for a, b in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_weights_are_loaded_by_name_for_layers_that_have_it(tmp_path: Path) -> None:
    first = tf.keras.Sequential([L.Dense(4, input_shape=(6,), name="base"), L.Dense(2, name="head")])
    first.save_weights(str(tmp_path / "w.h5"))
    second = tf.keras.Sequential([L.Dense(4, input_shape=(6,), name="base"), L.Dense(3, name="other")])
    other = second.get_weights()[2]
    second.load_weights(str(tmp_path / "w.h5"), by_name=True)
    np.testing.assert_array_equal(first.get_weights()[0], second.get_weights()[0])
    np.testing.assert_array_equal(second.get_weights()[2], other)


def test_weights_that_do_not_fit_are_all_named_and_nothing_is_changed(tmp_path: Path) -> None:
    tf.keras.Sequential([L.Dense(5, input_shape=(6,)), L.Dense(2)]).save_weights(str(tmp_path / "w.h5"))
    model = tf.keras.Sequential([L.Dense(4, input_shape=(6,)), L.Dense(2)])
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"\(6, 4\).*\(6, 5\).*\(4,\).*\(5,\).*\(4, 2\).*\(5, 2\)"):
        model.load_weights(str(tmp_path / "w.h5"))
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="containing 2 layers into a model with 1 layers"):
        tf.keras.Sequential([L.Dense(4, input_shape=(6,))]).load_weights(str(tmp_path / "w.h5"))


def test_damaged_and_missing_files_are_errors_that_name_them(tmp_path: Path) -> None:
    (tmp_path / "bad.h5").write_bytes(b"no HDF5")
    with pytest.raises(OSError, match=r"bad\.h5"):
        tf.keras.models.load_model(tmp_path / "bad.h5")
    with pytest.raises(OSError, match=r"none\.h5"):
        small().load_weights(str(tmp_path / "none.h5"))
    small().save_weights(str(tmp_path / "w.h5"))
    with pytest.raises(ValueError, match="weights only"):
        tf.keras.models.load_model(tmp_path / "w.h5")


def test_links_in_a_circle_and_groups_for_arrays_are_errors_that_name_the_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model, path = small(), tmp_path / "model.h5"
    model.save(str(path))
    with h5py.File(path, "r+") as file:
        place = file["model_weights"].visititems(lambda _, found: found.name if hasattr(found, "shape") else None)
        del file[place]
        file[place] = h5py.SoftLink(place)
    with pytest.raises(OSError, match=r"model\.h5 is damaged"):
        tf.keras.models.load_model(str(path))
    with h5py.File(path, "r+") as file:
        del file[place]
        file.create_group(place)
    with pytest.raises(ValueError, match=r"model\.h5 is damaged"):
        model.load_weights(str(path))


def test_a_failed_save_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small()
    model.save(tmp_path / "model.h5")
    before = (tmp_path / "model.h5").read_bytes()

    def full(*args: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("penstock.keras.engine.files._write_arrays", full)
    with pytest.raises(OSError, match="No space"):
        model.save(tmp_path / "model.h5")
    assert (tmp_path / "model.h5").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.h5"]


def test_functions_of_lambda_layers_are_never_taken_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tf.keras.Sequential([L.Lambda(lambda x: x * 2, input_shape=(6,), name="twice")])
    model.save(tmp_path / "model.h5")
    monkeypatch.setattr("penstock.keras.layers.lambda_layer._given", {})  # as in another process
    with pytest.raises(ValueError, match=r"never run.*custom_objects.*twice"):
        tf.keras.models.load_model(tmp_path / "model.h5", compile=False)
    again = tf.keras.models.load_model(tmp_path / "model.h5", {"twice": lambda x: x * 2}, compile=False)
    np.testing.assert_allclose(again.predict(X), 2 * X)
    code = {"name": "l", "function": ["4wAAAA==", None, None], "function_type": "lambda"}
    with pytest.raises(ValueError, match="never run"):
        L.deserialize({"class_name": "Lambda", "config": code})


def test_a_program_that_made_a_lambda_layer_loads_models_with_it(tmp_path: Path) -> None:
    model = tf.keras.Sequential([L.Lambda(lambda x: x * 3, input_shape=(6,), name="thrice")])
    model.save(tmp_path / "model.h5")
    again = tf.keras.models.load_model(tmp_path / "model.h5", compile=False)
    np.testing.assert_allclose(again.predict(X), 3 * X)
    np.testing.assert_allclose(tf.keras.models.model_from_json(model.to_json()).predict(X), 3 * X)
    L.Lambda(lambda x: x + 3, name="thrice")
    np.testing.assert_allclose(tf.keras.models.clone_model(model).predict(X), 3 * X)
    with pytest.raises(ValueError, match="custom_objects"):  # which of the two is not known
        tf.keras.models.load_model(tmp_path / "model.h5", compile=False)


def test_custom_losses_and_layers_are_found_by_name(tmp_path: Path) -> None:
    def ours(y_true: Any, y_pred: Any) -> Any:
        return tf.abs(y_true - y_pred)

    model = tf.keras.Sequential([L.Dense(1, input_shape=(6,))])
    model.compile("sgd", ours)
    model.save(tmp_path / "model.h5")
    with pytest.raises(ValueError, match="ours"):
        tf.keras.models.load_model(tmp_path / "model.h5")
    again = tf.keras.models.load_model(tmp_path / "model.h5", custom_objects={"ours": ours})
    np.testing.assert_allclose(again.evaluate(X, Y, verbose=0), model.evaluate(X, Y, verbose=0))


def test_a_graph_of_shared_and_nested_models_is_described_and_rebuilt() -> None:
    inner = tf.keras.Sequential([L.Dense(3, input_shape=(6,))], name="inner")
    a, b = tf.keras.Input((6,)), tf.keras.Input((6,))
    model = tf.keras.Model([a, b], [L.concatenate([inner(a), inner(b)]), inner(b)])
    again = tf.keras.Model.from_config(json.loads(json.dumps(model.get_config())))
    assert len(again.weights) == 2
    again.set_weights(model.get_weights())
    for one, other in zip(model.predict([X, 2 * X]), again.predict([X, 2 * X]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_model_in_yaml_is_the_same_model() -> None:
    model = small()
    again = tf.keras.models.model_from_yaml(model.to_yaml())
    assert again.to_json() == model.to_json()


def test_a_clone_has_weights_of_its_own() -> None:
    model = small()
    clone = tf.keras.models.clone_model(model)
    assert not set(model.weights) & set(clone.weights)
    assert [w.shape for w in clone.get_weights()] == [w.shape for w in model.get_weights()]


@pytest.mark.parametrize("name", ["multi", "GRUbi"])
def test_files_of_later_keras_hold_the_same_models(name: str) -> None:
    data = Path(__file__).parent.parent / "data"
    model = tf.keras.models.load_model(data / f"keras3_{name}.h5", compile=False)
    inputs = inputs_for([x.shape.as_list() for x in model.inputs])
    outputs = model.predict(inputs if len(inputs) > 1 else inputs[0])
    expected = np.load(data / "keras_layers.npz")
    for i, output in enumerate(outputs if isinstance(outputs, list) else [outputs]):
        np.testing.assert_allclose(output, expected[f"{name}.{i}"], rtol=2e-5, atol=2e-6)


def test_an_optimizer_of_later_keras_is_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="compile the model"):
        model = tf.keras.models.load_model(Path(__file__).parent.parent / "data" / "keras3_multi.h5")
    assert model.optimizer is None


def test_a_later_option_that_changes_what_a_layer_does_is_refused() -> None:
    grouped = {"class_name": "Conv2D", "config": {"name": "c", "filters": 4, "kernel_size": 3, "groups": 2}}
    with pytest.raises(ValueError, match="Conv2D 'c' has groups = 2"):
        L.deserialize(grouped)


def test_a_layer_may_be_another_layers_activation() -> None:
    def build(**arguments: Any) -> Any:
        return L.ConvLSTM2D(2, 2, activation=L.LeakyReLU(0.2), **arguments)

    model = tf.keras.Sequential([build(input_shape=(2, 3, 3, 1)), L.Flatten(), L.Dense(2, activation=L.LeakyReLU(0.5))])
    x = np.random.RandomState(0).uniform(-1, 1, (3, 2, 3, 3, 1)).astype(np.float32)
    again = tf.keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    hidden = tf.keras.Model(model.inputs, model.layers[1].output).predict(x)
    kernel, bias = model.get_weights()[-2:]
    linear = hidden @ kernel + bias
    np.testing.assert_allclose(model.predict(x), np.maximum(linear, 0.5 * linear), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "config", ['{"class_name": "Model", "config": {}}', "[1", '{"class_name": "Sequential", "config": {"x": 1}}']
)
def test_a_file_that_describes_no_model_is_told_by_its_name(tmp_path: Path, config: str) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "model.h5"
    small().save(str(path))
    with h5py.File(path, "r+") as file:
        file.attrs["model_config"] = config.encode()
    with pytest.raises(ValueError, match=r"model\.h5 is damaged, or describes no model"):
        tf.keras.models.load_model(str(path))


def test_a_description_whose_type_hdf5_does_not_know_is_told_by_its_files_name(tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    small().save(str(path))
    data = bytearray(path.read_bytes())
    data[data.index(b"model_config\0") + 16] = 0xF3  # the version of its type
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"model\.h5 is damaged, or describes no model: RuntimeError: .*version"):
        tf.keras.models.load_model(str(path))


class TwoLayers(tf.keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [L.Dense(3), L.Dense(1)]

    def call(self, x: Any) -> Any:
        return self.parts[1](self.parts[0](x))


def test_checkpoints_of_weights_have_the_keys_of_tensorflow(tmp_path: Path) -> None:
    model = tf.keras.Sequential([L.Dense(3), L.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones([2, 2]), np.ones([2, 1]), verbose=0)
    model.save_weights(str(tmp_path / "late"))
    keys = {name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(tmp_path / "late")}
    assert keys == {"_CHECKPOINTABLE_OBJECT_GRAPH"} | {
        *("layer-0/kernel", "layer-0/bias", "layer-1/kernel", "layer-1/bias"),
        *("optimizer/iter", "optimizer/decay", "optimizer/learning_rate", "optimizer/momentum"),
    }  # as TensorFlow 1.15 has them
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "late")


def test_weights_of_a_model_with_its_own_call_are_found_by_its_attributes(tmp_path: Path) -> None:
    x = np.ones([1, 2], np.float32)
    model, other = TwoLayers(), TwoLayers()
    expected = model.predict(x)
    model.save_weights(str(tmp_path / "own"))
    before = other.predict(x)
    other.load_weights(str(tmp_path / "own")).assert_consumed()
    assert not np.array_equal(before, expected)
    np.testing.assert_array_equal(other.predict(x), expected)


def test_weights_and_slots_that_are_made_after_loading_have_the_values_of_the_checkpoint(tmp_path: Path) -> None:
    x, y = np.ones([2, 2], np.float32), np.ones([2, 1], np.float32)

    def compiled() -> Any:
        model = tf.keras.Sequential([L.Dense(3), L.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(0.1), "mse")
        return model

    model, other = compiled(), compiled()
    model.fit(x, y, epochs=3, verbose=0)
    model.save_weights(str(tmp_path / "trained"))
    other.load_weights(str(tmp_path / "trained"))
    for each in (model, other):
        each.fit(x, y, epochs=2, verbose=0)
    for expected, found in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_loaded_model_of_another_graph_does_not_disturb_new_ones(tmp_path: Path) -> None:
    x = np.ones([1, 2], np.float32)
    model = TwoLayers()
    model.predict(x)
    model.save_weights(str(tmp_path / "own"))
    model.load_weights(str(tmp_path / "own"))
    with tf.Graph().as_default(), tf.Session():
        assert TwoLayers().predict(x).shape == (1, 1)


def test_a_checkpoint_of_another_object_is_refused(tmp_path: Path) -> None:
    model = TwoLayers()
    model.predict(np.ones([1, 2], np.float32))
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "wrapped"), tf.keras.backend.get_session())
    with pytest.raises(AssertionError, match="Nothing except the root object"):
        model.load_weights(path)


def test_models_are_saved_to_open_files_groups_and_streams_and_loaded_from_them(tmp_path: Path) -> None:
    model = small()
    model.fit(X, Y, epochs=1, verbose=0)
    expected = model.predict(X)
    with h5py.File(tmp_path / "two.h5", "w") as file:
        model.save(file.create_group("one"))
        tf.keras.models.save_model(model, file)
    with h5py.File(tmp_path / "two.h5", "r") as file:
        for place in (file, file["one"]):
            np.testing.assert_array_equal(tf.keras.models.load_model(place).predict(X), expected)
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        model.save(file)
        np.testing.assert_array_equal(tf.keras.models.load_model(file).predict(X), expected)
    stream = io.BytesIO()
    model.save(stream)
    stream.seek(0)
    again = tf.keras.models.load_model(stream)
    np.testing.assert_array_equal(again.predict(X), expected)
    assert again.optimizer.get_config() == model.optimizer.get_config()


def test_the_first_layer_of_a_described_sequential_says_its_inputs_shape() -> None:
    described = [
        tf.keras.Sequential([L.Dense(2, input_shape=(3,)), L.Dense(1)]),
        tf.keras.Sequential([L.InputLayer((3,)), L.Dense(2), L.Dense(1)]),
        tf.keras.Sequential([tf.keras.Input((3,)), L.Dense(2), L.Dense(1)]),
    ]
    late = tf.keras.Sequential([L.Dense(2), L.Dense(1)])
    assert set(late.get_config()) == {"name", "layers"}
    late.build((None, 3))
    for model in (*described, late):
        config = model.get_config()
        assert [layer["class_name"] for layer in config["layers"]] == ["Dense", "Dense"]
        shape = config["layers"][0]["config"].get("batch_input_shape")
        assert (shape or config["build_input_shape"]) == (None, 3)
        assert ("build_input_shape" in config) == (model is late)
        again = tf.keras.Sequential.from_config(config)
        assert again.input_shape == (None, 3)
    assert late.get_config()["layers"][0]["config"]["dtype"] == "float32"
    assert L.Dense(2).get_config()["dtype"] is None
    numbers = tf.keras.Sequential([L.InputLayer((4,), dtype="int32"), L.Lambda(lambda x: x + 1)])
    again = tf.keras.Sequential.from_config(numbers.get_config())
    assert again.predict(np.ones((1, 4), np.int32)).dtype == np.int32
