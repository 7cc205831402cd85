"""Published architectures against Keras 3's: layers, weights, and features (tests/data/keras_applications.json.gz)."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

A = tf.keras.applications
L = tf.keras.layers
with gzip.open(Path(__file__).parent.parent / "data" / "keras_applications.json.gz") as _file:
    EXPECTED = json.load(_file)
COMPUTED = ("VGG16", "ResNet50", "ResNet50V2", "InceptionV3", "Xception", "MobileNet", "MobileNetV2", "DenseNet121")
NUMBERS = np.random.RandomState(7).uniform(-1, 1, 997)


def given_value(name: str, shape: Any) -> np.ndarray:
    """A weight's value, by its name and shape, such that the features neither grow nor vanish."""
    values = np.resize(NUMBERS, shape)
    if "gamma" in name:
        return 1 + 0.2 * values
    if "variance" in name:
        return 1 + 0.5 * values
    if len(shape) == 1:
        return 0.1 * values
    depthwise = len(shape) == 4 and shape[3] == 1
    return values * math.sqrt(6 / math.prod(shape[:2] if depthwise else shape[:-1]))


def name_without_number(name: str) -> str:
    """Layers without a name of their own are numbered in the order in which they were made."""
    return re.sub(r"^(conv2d|batch_normalization)(_\d+)?$", r"\1", name).replace("/", "_")


@pytest.mark.parametrize("name", EXPECTED)
def test_an_architecture_has_the_weights_and_features_of_keras(name: str) -> None:
    expected = EXPECTED[name]
    make = getattr(A, name)
    with tf.Graph().as_default():
        assert make(weights=None, **expected["arguments"]).count_params() == expected["parameters"]
    tf.keras.backend.clear_session()
    size = expected["size"]
    model = make(include_top=False, weights=None, pooling="avg", input_shape=(size, size, 3), **expected["arguments"])
    weighted = [layer for layer in model.layers if layer.weights]
    found = [[name_without_number(x.name), [w.shape.as_list() for w in x.weights]] for x in weighted]
    assert found == [[name_without_number(layer), shapes] for layer, shapes in expected["layers"]]
    if name in COMPUTED:
        tf.keras.backend.batch_set_value([(w, given_value(w.name, w.shape.as_list())) for w in model.weights])
        images = np.random.RandomState(3).uniform(-1, 1, (2, size, size, 3)).astype(np.float32)
        features = model.predict(images)[:, ::37]
        wanted = np.array(expected["features"])
        np.testing.assert_allclose(features, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_an_architecture_loads_weights_from_a_file_and_has_other_classes(tmp_path: Path) -> None:
    def small(**arguments: Any) -> Any:
        return A.MobileNet(input_shape=(32, 32, 3), alpha=0.25, classes=7, **arguments)

    model = small(weights=None)
    model.save_weights(str(tmp_path / "weights.h5"))
    images = np.random.RandomState(0).uniform(-1, 1, (2, 32, 32, 3)).astype(np.float32)
    outputs = model.predict(images)
    np.testing.assert_allclose(outputs.sum(1), 1, rtol=1e-5)
    tf.keras.backend.clear_session()
    np.testing.assert_array_equal(small(weights=str(tmp_path / "weights.h5")).predict(images), outputs)


def test_an_architecture_begins_at_a_tensor_and_is_part_of_a_model() -> None:
    inputs = tf.keras.Input((40, 40, 3))
    base = A.VGG16(include_top=False, weights=None, input_tensor=L.GaussianNoise(0.1)(inputs), pooling="max")
    assert base.inputs == [inputs]
    model = tf.keras.Model(inputs, L.Dense(2)(base.output))
    assert model.output_shape == (None, 2)
    assert A.VGG16(include_top=False, weights=None).output_shape == (None, None, None, 512)


def test_published_weights_that_cannot_be_fetched_are_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*args: Any, **kwargs: Any) -> Any:
        raise OSError("no network")

    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", offline)
    with pytest.raises(OSError, match=r"Put the file at .*models/mobilenet_2_5_128_tf_no_top\.h5"):
        A.MobileNet(include_top=False, alpha=0.25, input_shape=(128, 128, 3))


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="`classes` should be 1000"):
        A.ResNet50(classes=10)
    with pytest.raises(ValueError, match="alpha can be one of"):
        A.MobileNet(alpha=0.3)
    with pytest.raises(ValueError, match="at least 75x75"):
        A.InceptionV3(include_top=False, weights=None, input_shape=(50, 50, 3))
    with pytest.raises(ValueError, match="`input_shape` should be"):
        A.VGG16(input_shape=(32, 32, 3))


def test_images_are_prepared_as_the_models_were_trained() -> None:
    images = np.array([[[[0.0, 127.5, 255.0]]]], np.float32)
    np.testing.assert_allclose(A.inception_v3.preprocess_input(images.copy()), [[[[-1, 0, 1]]]])
    np.testing.assert_allclose(
        A.vgg16.preprocess_input(images.copy())[0, 0, 0], [255 - 103.939, 127.5 - 116.779, -123.68]
    )
    torch = [(0 - 0.485) / 0.229, (0.5 - 0.456) / 0.224, (1 - 0.406) / 0.225]
    np.testing.assert_allclose(A.densenet.preprocess_input(images.copy())[0, 0, 0], torch, rtol=1e-6)
    for module in (A.inception_v3, A.vgg16, A.densenet):
        graph = tf.keras.backend.eval(module.preprocess_input(tf.constant(images)))
        np.testing.assert_allclose(graph, module.preprocess_input(images.copy()), rtol=1e-5)
        first = module.preprocess_input(images.transpose(0, 3, 1, 2).copy(), data_format="channels_first")
        np.testing.assert_allclose(first.transpose(0, 2, 3, 1), module.preprocess_input(images.copy()), rtol=1e-6)
    assert A.vgg16.preprocess_input(np.zeros((1, 1, 1, 3), np.uint8)).dtype == np.float32


def test_predictions_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes = {str(i): [f"n{i:08d}", f"class {i}"] for i in range(1000)}
    path = tmp_path / "classes.json"
    path.write_text(json.dumps(classes))
    monkeypatch.setattr("penstock.keras.applications.preparation.get_file", lambda *args, **kwargs: str(path))
    predictions = np.zeros((1, 1000))
    predictions[0, [5, 900]] = 0.7, 0.2
    found = A.resnet50.decode_predictions(predictions, top=2)
    assert found == [[("n00000005", "class 5", 0.7), ("n00000900", "class 900", 0.2)]]
    with pytest.raises(ValueError, match="1000"):
        A.resnet50.decode_predictions(np.zeros((1, 10)))


def test_arrays_of_floats_are_prepared_in_place() -> None:
    # TensorFlow 1.15 does the same: programs call `preprocess_input(x)` and go on with `x`.
    x = np.array([[[[10.0, 20.0, 30.0]]]], np.float32)
    y = tf.keras.applications.vgg16.preprocess_input(x)
    np.testing.assert_allclose(y.ravel(), [30 - 103.939, 20 - 116.779, 10 - 123.68], rtol=1e-6)
    np.testing.assert_array_equal(x[..., ::-1], y)
    first = np.full((1, 3, 2, 2), 255.0, np.float32)
    tf.keras.applications.densenet.preprocess_input(first, data_format="channels_first")
    np.testing.assert_allclose(first[0, :, 0, 0], [0.515 / 0.229, 0.544 / 0.224, 0.594 / 0.225], rtol=1e-5)
    pixels = np.array([[[[10, 20, 30]]]], np.uint8)
    assert tf.keras.applications.inception_v3.preprocess_input(pixels).dtype == np.float32
    assert pixels.ravel().tolist() == [10, 20, 30]
