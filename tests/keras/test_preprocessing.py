"""Sequences, texts, images and labels as arrays."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import penstock as tf

P = tf.keras.preprocessing


def test_sequences_are_padded_and_cut_before_or_after() -> None:
    sequences = [[1], [1, 2, 3], []]
    pad = P.sequence.pad_sequences
    np.testing.assert_array_equal(pad(sequences), [[0, 0, 1], [1, 2, 3], [0, 0, 0]])
    np.testing.assert_array_equal(pad(sequences, 2, padding="post", value=9), [[1, 9], [2, 3], [9, 9]])
    np.testing.assert_array_equal(pad(sequences, 2, truncating="post"), [[0, 1], [1, 2], [0, 0]])
    with pytest.raises(ValueError, match="non-iterable: 3"):
        pad([[1], 3])


def test_a_tokenizer_numbers_words_by_how_often_they_occur() -> None:
    tokenizer = P.text.Tokenizer()
    tokenizer.fit_on_texts(["The cat sat on the mat.", "The dog!"])
    assert tokenizer.word_index == {"the": 1, "cat": 2, "sat": 3, "on": 4, "mat": 5, "dog": 6}
    assert tokenizer.texts_to_sequences(["the dog sat, unseen"]) == [[1, 6, 3]]
    np.testing.assert_array_equal(tokenizer.texts_to_matrix(["the the dog"], "count"), [[0, 2, 0, 0, 0, 0, 1]])
    limited = P.text.Tokenizer(num_words=3, oov_token="?")
    limited.fit_on_texts(["a a a b b c"])
    assert limited.texts_to_sequences(["a b c d"]) == [[2, 1, 1, 1]]
    assert P.text.text_to_word_sequence("Hello, World") == ["hello", "world"]


def test_labels_become_rows_with_a_one() -> None:
    np.testing.assert_array_equal(tf.keras.utils.to_categorical([2, 0]), [[0, 0, 1], [1, 0, 0]])
    assert tf.keras.utils.to_categorical(np.array([[1], [0]]), 4).shape == (2, 4)
    np.testing.assert_allclose(tf.keras.utils.normalize(np.array([[3.0, 4.0]])), [[0.6, 0.8]])


def test_images_are_flipped_shifted_and_scaled() -> None:
    image = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    change = P.image.ImageDataGenerator(horizontal_flip=True, rescale=0.5)
    found = {change.standardize(change.random_transform(image, seed))[0, 0, 0] for seed in range(10)}
    assert found == {0.0, 1.5}
    change = P.image.ImageDataGenerator(width_shift_range=1, fill_mode="constant", cval=-1, interpolation_order=0)
    shifts = {tuple(change.random_transform(image, seed)[0, :, 0]) for seed in range(20)}
    assert shifts <= {(0, 1, 2, 3), (1, 2, 3, -1), (-1, 0, 1, 2)}
    assert len(shifts) > 1


def test_standardised_features_have_the_mean_and_deviation_of_the_data() -> None:
    images = np.random.RandomState(0).uniform(0, 255, (20, 4, 4, 3)).astype(np.float32)
    change = P.image.ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    with pytest.raises(ValueError, match="fit it"):
        change.standardize(images[0])
    change.fit(images)
    batch, labels = next(change.flow(images, np.arange(20), batch_size=20, shuffle=False))
    np.testing.assert_allclose(batch.mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(batch.std((0, 1, 2)), 1, atol=1e-4)
    np.testing.assert_array_equal(labels, np.arange(20))


def test_folders_of_images_are_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, shade in (("cats", 10), ("dogs", 200)):
        (tmp_path / kind).mkdir()
        for i in range(3):
            Image.new("RGB", (6, 5), (shade, shade, shade)).save(tmp_path / kind / f"{i}.png")
    batches = P.image.ImageDataGenerator().flow_from_directory(tmp_path, (4, 4), batch_size=4, class_mode="binary")
    assert capsys.readouterr().out == "Found 6 images belonging to 2 classes.\n"
    assert batches.class_indices == {"cats": 0, "dogs": 1}
    assert len(batches) == 2
    images, labels = batches[0]
    assert images.shape == (4, 4, 4, 3)
    np.testing.assert_array_equal(images[:, 0, 0, 0] == 200, labels == 1)


def test_a_data_set_in_the_cache_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    folder = tmp_path / "datasets" / "fashion-mnist"
    folder.mkdir(parents=True)
    for part, count in (("train", 3), ("t10k", 2)):
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(bytes(8) + bytes(range(count)))
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(bytes(16) + bytes(count * 784))
    (x, y), (x_test, _) = tf.keras.datasets.fashion_mnist.load_data()
    assert x.shape == (3, 28, 28)
    assert y.tolist() == [0, 1, 2]
    assert len(x_test) == 2


def test_without_a_network_the_error_says_where_to_put_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*args: Any, **kwargs: Any) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", offline)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(OSError, match=r"no route to host.*datasets/mnist\.npz"):
        tf.keras.datasets.mnist.load_data()


def test_contrib_keras_is_keras() -> None:
    from penstock.contrib.keras.layers import Dense
    from penstock.contrib.keras.preprocessing.sequence import pad_sequences

    assert Dense is tf.keras.layers.Dense
    assert pad_sequences is P.sequence.pad_sequences
    assert tf.contrib.keras.models.Sequential is tf.keras.Sequential is tf.contrib.keras.Sequential


def test_contrib_keras_has_the_inner_modules_of_keras() -> None:
    from penstock.contrib.keras.api.keras.optimizers import Adam
    from penstock.contrib.keras.python import keras
    from penstock.contrib.keras.python.keras.engine import topology
    from penstock.contrib.keras.python.keras.layers import Dense

    assert Dense is tf.keras.layers.Dense is keras.layers.Dense
    assert Adam is tf.keras.optimizers.Adam
    assert topology.Layer is tf.keras.layers.Layer


def test_an_image_is_turned_sheared_and_zoomed_around_its_middle_as_scipy_interpolates() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    image = np.random.RandomState(0).uniform(0, 255, (7, 6, 2)).astype(np.float32)
    theta, tx, ty, shear, zx, zy = 25.0, 0.8, -1.3, 10.0, 0.9, 1.2
    a, b = np.deg2rad(theta), np.deg2rad(shear)
    turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    matrix = turn @ [[1, -np.sin(b)], [0, np.cos(b)]] @ np.diag([zx, zy])
    middle = np.array([3.0, 2.5])
    offset = middle + turn @ [tx, ty] - matrix @ middle
    for fill_mode in ("nearest", "constant", "reflect"):
        found = P.image.apply_affine_transform(image, theta, tx, ty, shear, zx, zy, fill_mode=fill_mode, cval=9.0)
        channels = [
            ndimage.affine_transform(image[..., i], matrix, offset, order=1, mode=fill_mode, cval=9.0) for i in (0, 1)
        ]
        np.testing.assert_allclose(found, np.stack(channels, -1), rtol=1e-4, atol=1e-3)
    first = P.image.apply_affine_transform(
        image.transpose(2, 0, 1), theta, tx, ty, shear, zx, zy, row_axis=1, col_axis=2, channel_axis=0
    )
    last = P.image.apply_affine_transform(image, theta, tx, ty, shear, zx, zy)
    np.testing.assert_array_equal(first.transpose(1, 2, 0), last)


def test_images_are_changed_at_random_within_limits() -> None:
    image = np.random.RandomState(0).uniform(0, 255, (3, 8, 9)).astype(np.float32)  # channels first
    np.random.seed(0)
    I = P.image
    changed = [
        I.random_rotation(image, 30),
        I.random_shift(image, 0.3, 0.2),
        I.random_shear(image, 20),
        I.random_zoom(image, (0.7, 1.3)),
        I.random_channel_shift(image, 50),
        I.random_brightness(image, (0.5, 0.6)),
    ]
    for other in changed:
        assert other.shape == image.shape
        assert other.dtype == image.dtype
        assert not np.array_equal(other, image)
    assert 0.5 <= changed[-1].max() / image.max() <= 0.6
    np.testing.assert_array_equal(I.random_rotation(image, 0), image)
    np.testing.assert_array_equal(I.flip_axis(image, 2), image[:, :, ::-1])
    moved = I.apply_transform(image, [[1, 0, 1], [0, 1, 0], [0, 0, 1]], 0, "constant", -1.0)
    np.testing.assert_array_equal(moved[:, :-1], image[:, 1:])
    assert (moved[:, -1] == -1).all()
    with pytest.raises(ValueError, match="two floats"):
        I.random_zoom(image, (1, 2, 3))


def test_whitened_images_have_no_correlation_between_pixels() -> None:
    random = np.random.RandomState(0)
    images = (random.normal(size=(300, 12)) @ random.normal(size=(12, 12))).reshape(300, 2, 2, 3).astype(np.float32)
    with pytest.warns(UserWarning, match="overrides setting of `featurewise_center`"):
        change = P.image.ImageDataGenerator(zca_whitening=True)
    change.fit(images)
    rows = np.stack([change.standardize(image) for image in images]).reshape(300, -1)
    np.testing.assert_allclose(rows.T @ rows / 300, np.eye(12), atol=0.01)
    augmented = P.image.ImageDataGenerator(featurewise_center=True, horizontal_flip=True)
    augmented.fit(images, augment=True, rounds=2, seed=1)
    np.testing.assert_allclose(augmented.mean.ravel(), images.mean((0, 1, 2)), atol=1e-4)


def test_skipgrams_are_pairs_of_near_words_and_random_ones() -> None:
    couples, labels = P.sequence.skipgrams([1, 2, 0, 3], 9, window_size=1, negative_samples=0, shuffle=False)
    assert (couples, labels) == ([[1, 2], [2, 1]], [1, 1])
    couples, labels = P.sequence.skipgrams(list(range(1, 9)), 9, window_size=2, seed=3, categorical=True)
    near = [couple for couple, label in zip(couples, labels, strict=True) if label == [0, 1]]
    assert len(near) == len(couples) / 2 == 26
    assert all(0 < abs(a - b) <= 2 for a, b in near)
    table = P.sequence.make_sampling_table(1000)
    np.testing.assert_allclose(table[[0, 1, 999]], [0.00315225, 0.00315225, 0.27353], rtol=1e-3)


def test_windows_of_a_time_series_come_before_their_targets() -> None:
    data = np.arange(20)
    batches = P.sequence.TimeseriesGenerator(data, data * 10, length=6, sampling_rate=2, stride=3, batch_size=2)
    assert len(batches) == 3
    samples, targets = batches[0]
    np.testing.assert_array_equal(samples, [[0, 2, 4], [3, 5, 7]])
    np.testing.assert_array_equal(targets, [60, 90])
    np.testing.assert_array_equal(batches[2][1], [180])
    with pytest.raises(ValueError, match="disallowed"):
        P.sequence.TimeseriesGenerator(data, data, length=30)


def test_programs_make_batches_of_the_numbers_of_samples() -> None:
    class Squares(tf.keras.preprocessing.image.Iterator):
        def _get_batches_of_transformed_samples(self, index_array: np.ndarray) -> np.ndarray:
            return index_array**2

    plain = Squares(5, 2, False, None)
    assert [next(plain).tolist() for _ in range(4)] == [[0, 1], [4, 9], [16], [0, 1]]
    assert len(plain) == 3 and plain[2].tolist() == [16]
    with pytest.raises(ValueError, match="length 3"):
        plain[3]
    mixed = Squares(5, 2, True, 7)
    order = [np.random.RandomState(7 + batches).permutation(5) for batches in (0, 3)]  # a seed for each batch
    wanted = [order[0][:2], order[0][2:4], order[0][4:], order[1][:2]]
    assert [next(mixed).tolist() for _ in range(4)] == [(rows**2).tolist() for rows in wanted]
