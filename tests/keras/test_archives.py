"""Models that Keras 3 wrote (tools/make_keras_archives.py) compute here what they computed there."""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

pytest.importorskip("h5py")
RECORDED = Path(__file__).parent.parent / "data" / "keras_archives.tar.gz"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives")
    with tarfile.open(RECORDED) as archive:
        archive.extractall(folder, filter="data")
    return folder


def changed(source: Path, target: Path, name: str, text: bytes) -> Path:
    """A copy of an archive with another member in the place of one."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for member in archive.namelist():
            copy.writestr(member, text if member == name else archive.read(member))
    return target


def check(model: Any, name: str, folder: Path) -> None:
    recorded = np.load(folder / "expected.npz")
    inputs = [recorded[key] for key in recorded if key.startswith(f"{name}/x")]
    outputs = model.predict(inputs if len(inputs) > 1 else inputs[0])
    for i, output in enumerate(outputs if isinstance(outputs, list) else [outputs]):
        np.testing.assert_allclose(output, recorded[f"{name}/y{i}"], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["images", "sequences"])
def test_a_model_of_keras_3_is_the_same_model(name: str, files: Path) -> None:
    check(tf.keras.models.load_model(files / f"{name}.keras", compile=False), name, files)


@pytest.mark.parametrize("ending", [".keras", ".weights.h5"])
def test_weights_of_keras_3_are_loaded_into_a_model_that_is_there(ending: str, files: Path, tmp_path: Path) -> None:
    model = tf.keras.models.load_model(files / "sequences.keras", compile=False)
    model.set_weights([0 * weight for weight in model.get_weights()])
    model.load_weights(str(files / f"sequences{ending}"))
    check(model, "sequences", files)


def test_a_model_is_compiled_as_keras_3_had_it(files: Path) -> None:
    model = tf.keras.models.load_model(files / "images.keras")
    assert isinstance(model.optimizer, tf.keras.optimizers.Adam)
    assert model.optimizer.get_config()["learning_rate"] == pytest.approx(0.001)
    x = np.zeros((4, 8, 8, 3), np.float32)
    assert np.isfinite(model.train_on_batch([x, x], [np.zeros(4), np.zeros(4)])[0])


def test_an_optimizer_that_is_another_here_is_left_out_with_a_warning(files: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(files / "images.keras") as archive:
        description = json.loads(archive.read("config.json"))
    description["compile_config"]["optimizer"]["config"]["weight_decay"] = 0.1
    path = changed(files / "images.keras", tmp_path / "m.keras", "config.json", json.dumps(description).encode())
    with pytest.warns(UserWarning, match="weight_decay.*compile the model"):
        assert getattr(tf.keras.models.load_model(path), "optimizer", None) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("SGD", {}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("Adam", {}),
        ("Adam", {"amsgrad": True, "clipnorm": 1.0}),
        ("RMSprop", {}),
        ("Adagrad", {}),
        ("Adadelta", {}),
        ("Adamax", {}),
    ],
)
def test_a_model_in_an_archive_trains_on_as_if_it_had_never_been_there(
    name: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    layers = tf.keras.layers
    inputs = layers.Input((4,), name="in")
    first = layers.Input((4,), name="first")
    inner = tf.keras.Model(first, layers.Dense(4, activation="tanh")(first), name="inner")
    outputs = layers.Dense(2)(layers.BatchNormalization()(layers.add([inner(inputs), layers.Dense(4)(inputs)])))
    model = tf.keras.Model(inputs, outputs)
    model.compile(getattr(tf.keras.optimizers, name)(lr=0.03125, **arguments), "mse", metrics=["mae"])
    rng = np.random.RandomState(0)
    x, y = rng.rand(8, 4).astype(np.float32), rng.rand(8, 2).astype(np.float32)
    for _ in range(3):
        model.train_on_batch(x, y)
    model.save(str(tmp_path / "m.keras"))
    again = tf.keras.models.load_model(str(tmp_path / "m.keras"))
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert again.optimizer.get_config() == model.optimizer.get_config()
    for _ in range(2):
        np.testing.assert_allclose(again.train_on_batch(x, y), model.train_on_batch(x, y), rtol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["m.keras"]


def test_what_keras_3_has_no_optimizer_for_is_saved_without_it(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile(tf.keras.optimizers.SGD(0.1, decay=0.5), "mse")
    with pytest.warns(UserWarning, match="Keras 3 has no SGD as this one is"):
        model.save(str(tmp_path / "m.keras"))
    with pytest.warns(UserWarning, match="does not say how the model is trained"):
        again = tf.keras.models.load_model(str(tmp_path / "m.keras"))
    np.testing.assert_array_equal(again.get_weights()[0], model.get_weights()[0])


def test_code_in_a_file_is_never_run(files: Path) -> None:
    with pytest.raises(ValueError, match=r"Lambda layer 'twice'.*never run.*custom_objects"):
        tf.keras.models.load_model(files / "twice.keras", compile=False)
    model = tf.keras.models.load_model(files / "twice.keras", {"twice": lambda x: 2 * x}, compile=False)
    np.testing.assert_array_equal(model.predict(np.ones((1, 3), np.float32)), [[2, 2, 2]])


def test_weights_that_do_not_fit_are_all_named(files: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(files / "sequences.keras") as archive:
        config = json.loads(archive.read("config.json"))
    config["config"]["layers"][-1]["config"]["units"] = 7
    path = changed(files / "sequences.keras", tmp_path / "m.keras", "config.json", json.dumps(config).encode())
    with pytest.raises(ValueError, match=r"\(4, 7\), the file's layers/dense \(4, 2\); .*\(7,\), .* \(2,\)"):
        tf.keras.models.load_model(path, compile=False)


@pytest.mark.parametrize("text", [b"[1", b"[" * 100_000, b'{"class_name": "Functional", "config": {}}', b"[1]", b"3"])
def test_a_description_of_no_model_is_told_with_the_files_name(text: bytes, files: Path, tmp_path: Path) -> None:
    path = changed(files / "twice.keras", tmp_path / "m.keras", "config.json", text)
    with pytest.raises(ValueError, match=r"m\.keras is damaged, or describes no model"):
        tf.keras.models.load_model(path, compile=False)


def test_an_archive_that_unpacks_to_much_more_is_refused(files: Path, tmp_path: Path) -> None:
    path = changed(files / "twice.keras", tmp_path / "m.keras", "config.json", b" " * (80 << 20))
    with pytest.raises(ValueError, match=r"config\.json in the archive unpacks to more than 8,"):
        tf.keras.models.load_model(path, compile=False)


def test_weights_that_were_never_written_take_no_memory(files: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "w.weights.h5"
    shutil.copy(files / "sequences.weights.h5", path)
    model = tf.keras.Sequential([tf.keras.layers.Embedding(1 << 28, 4, input_length=5)])
    with h5py.File(path, "w") as file:
        file.create_dataset("layers/embedding/vars/0", (1 << 28, 4), "f4", chunks=(1024, 4))
    with pytest.raises(ValueError, match=r"says that it holds 4,294,967,296 bytes"):
        model.load_weights(str(path))


@pytest.mark.parametrize("kind", ["link", "storage"])
def test_weights_that_are_in_another_file_are_refused(kind: str, files: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model = tf.keras.models.load_model(files / "sequences.keras", compile=False)
    path, other = tmp_path / "w.weights.h5", tmp_path / "other"
    with h5py.File(other, "w") as file:
        file["0"] = np.ones(3, np.float32)
    shutil.copy(files / "sequences.weights.h5", path)
    with h5py.File(path, "r+") as file:
        del file["layers/dense/vars/0"]
        if kind == "link":
            file["layers/dense/vars/0"] = h5py.ExternalLink(str(other), "0")
        else:
            file.create_dataset("layers/dense/vars/0", (4, 2), "f4", external=[(str(other), 0, 32)])
    with pytest.raises(OSError, match=r"w\.weights\.h5 is refused: .*layers/dense/vars/0 in it is in another file"):
        model.load_weights(str(path))


def test_what_means_something_else_in_keras_3_stays_in_an_hdf5_file_and_is_refused_in_an_archive(
    files: Path, tmp_path: Path
) -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(1, activation="hard_sigmoid", input_shape=(2,))])
    inputs = layers.Input((2,))
    outer = tf.keras.Model(inputs, tf.keras.Sequential([layers.Dense(1, input_shape=(2,))])(inputs))
    for saved, why in ((model, "hard_sigmoid"), (outer, "Keras 3 counts the calls of the Sequential")):
        with pytest.warns(UserWarning, match=rf"m\.keras is an HDF5 file, .*{why}"):
            saved.save(str(tmp_path / "m.keras"))
        again = tf.keras.models.load_model(str(tmp_path / "m.keras"), compile=False)
        np.testing.assert_array_equal(again.get_weights()[0], saved.get_weights()[0])
    with zipfile.ZipFile(files / "sequences.keras") as archive:
        config = archive.read("config.json").replace(b'"sigmoid"', b'"hard_sigmoid"')
    path = changed(files / "sequences.keras", tmp_path / "n.keras", "config.json", config)
    with pytest.raises(ValueError, match="hard_sigmoid is one function in TensorFlow"):
        tf.keras.models.load_model(path)
