"""Images of arrays, folders and tables, changed at random: values that TensorFlow 1.15 gives for NumPy's seeds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import penstock as tf

I = tf.keras.preprocessing.image
IMAGE = np.arange(12, dtype=np.float32).reshape(3, 4, 1)


def test_an_image_is_turned_and_zoomed_about_the_point_that_keras_preprocessing_takes_for_its_middle() -> None:
    # TensorFlow 1.15 gives the same.
    turned = I.apply_affine_transform(IMAGE, theta=90)[..., 0]
    wanted = [[8.5, 8.5, 8.5, 6.5], [9.5, 9.5, 9.5, 7.5], [10.5, 10.5, 10.5, 8.5]]
    np.testing.assert_allclose(turned, wanted, atol=1e-5)
    zoomed = I.apply_affine_transform(IMAGE, zx=0.5, zy=0.5)[..., 0]
    np.testing.assert_allclose(zoomed[:, 0], [5.25, 7.25, 9.25], atol=1e-5)
    wrapped = I.apply_affine_transform(IMAGE, tx=0.5, fill_mode="wrap")[..., 0]
    np.testing.assert_allclose(wrapped, [[2, 3, 4, 5], [6, 7, 8, 9], [2, 3, 4, 5]], atol=1e-5)


def test_images_are_interpolated_as_scipy_does() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    image = np.random.RandomState(0).uniform(0, 255, (7, 6, 2)).astype(np.float32)
    theta, tx, ty, shear, zx, zy = 25.0, 0.8, -1.3, 10.0, 0.9, 1.2
    a, b = np.deg2rad(theta), np.deg2rad(shear)
    turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    matrix = turn @ [[1, -np.sin(b)], [0, np.cos(b)]] @ np.diag([zx, zy])
    middle = np.array([4.0, 3.5])
    offset = middle + turn @ [tx, ty] - matrix @ middle
    for fill_mode in ("nearest", "constant", "reflect", "wrap"):
        for order in (0, 1, 3):
            found = I.apply_affine_transform(
                image, theta, tx, ty, shear, zx, zy, fill_mode=fill_mode, cval=9.0, order=order
            )
            channels = [
                ndimage.affine_transform(image[..., i], matrix, offset, order=order, mode=fill_mode, cval=9.0)
                for i in (0, 1)
            ]
            np.testing.assert_allclose(found, np.stack(channels, -1), rtol=1e-4, atol=1e-3)
    first = I.apply_affine_transform(
        image.transpose(2, 0, 1), theta, tx, ty, shear, zx, zy, row_axis=1, col_axis=2, channel_axis=0
    )
    last = I.apply_affine_transform(image, theta, tx, ty, shear, zx, zy)
    np.testing.assert_array_equal(first.transpose(1, 2, 0), last)


def test_what_is_done_at_random_is_drawn_in_the_order_of_keras_preprocessing() -> None:
    change = I.ImageDataGenerator(
        rotation_range=20, width_shift_range=0.2, height_shift_range=[1, 2], shear_range=5, zoom_range=0.3,
        horizontal_flip=True, vertical_flip=True, channel_shift_range=9, brightness_range=(0.4, 1.2),
    )  # fmt: skip
    found = change.get_random_transform((10, 20, 3), seed=5)
    wanted = {  # TensorFlow 1.15's
        "theta": -11.12027, "tx": 2, "ty": -2.34625, "shear": 4.18611, "zx": 0.99305, "zy": 1.06705,
        "flip_horizontal": 0, "flip_vertical": 0, "channel_shift_intensity": -3.65759, "brightness": 0.55018,
    }  # fmt: skip
    assert found == pytest.approx(wanted, abs=1e-5)
    assert change.apply_transform(IMAGE, {"flip_horizontal": True})[0, :, 0].tolist() == [3, 2, 1, 0]


def test_batches_of_an_array_are_those_of_a_seed() -> None:
    images = np.arange(24.0).reshape(3, 2, 4, 1)
    batches = I.ImageDataGenerator(width_shift_range=2).flow(images, [0, 1, 2], batch_size=2, seed=5)
    assert isinstance(batches, I.NumpyArrayIterator)
    rows, labels = [], []
    for _ in range(3):
        x, y = next(batches)
        rows += x[:, 0, :, 0].tolist()
        labels += y.tolist()
    # TensorFlow 1.15 gives the same.
    assert rows == [[0, 0, 1, 2], [8, 9, 10, 11], [16, 17, 18, 19], [16, 17, 18, 19], [8, 8, 9, 10]]
    assert labels == [0, 1, 2, 2, 1]
    assert (batches.n, batches.batch_size, batches.x.shape) == (3, 2, (3, 2, 4, 1))


def test_arrays_beside_the_images_and_weights_are_in_the_batches() -> None:
    images, numbers = np.zeros((4, 2, 2, 1)), np.arange(4)
    change = I.ImageDataGenerator(validation_split=0.5)
    batches = change.flow((images, [numbers, numbers * 2]), numbers % 2, 2, False, sample_weight=numbers / 10)
    (_, first, second), labels, weights = next(batches)
    assert (first.tolist(), second.tolist(), labels.tolist(), weights.tolist()) == ([0, 1], [0, 2], [0, 1], [0, 0.1])
    (_, first, _), _ = next(change.flow((images, [numbers, numbers]), numbers % 2, 2, False, subset="training"))
    assert first.tolist() == [2, 3]
    with pytest.raises(ValueError, match="different number of classes"):
        change.flow(images, [0, 0, 1, 1], subset="validation")
    with pytest.raises(ValueError, match="same length"):
        change.flow(images, [0])


def test_images_are_changed_at_random_within_limits() -> None:
    image = np.random.RandomState(0).uniform(0, 255, (3, 8, 9)).astype(np.float32)  # channels first
    np.random.seed(0)
    changed = [
        I.random_rotation(image, 30),
        I.random_shift(image, 0.3, 0.2),
        I.random_shear(image, 20),
        I.random_zoom(image, (0.7, 1.3)),
        I.random_channel_shift(image, 50),
    ]
    for other in changed:
        assert other.shape == image.shape
        assert other.dtype == image.dtype
        assert not np.array_equal(other, image)
    np.testing.assert_array_equal(I.random_rotation(image, 0), image)
    np.testing.assert_array_equal(I.flip_axis(image, 2), image[:, :, ::-1])
    moved = I.apply_transform(image, [[1, 0, 1], [0, 1, 0], [0, 0, 1]], 0, "constant", -1.0)
    np.testing.assert_array_equal(moved[:, :-1], image[:, 1:])
    assert (moved[:, -1] == -1).all()
    with pytest.raises(ValueError, match="two floats"):
        I.random_zoom(image, (1, 2, 3))


def test_brightness_is_of_whole_numbers_from_black_to_white() -> None:
    wanted = [[0, 11, 23, 34], [46, 57, 69, 81], [92, 104, 115, 127]]  # TensorFlow 1.15's
    np.testing.assert_array_equal(I.apply_brightness_shift(IMAGE, 0.5)[..., 0], wanted)
    np.random.seed(0)
    assert 127 >= I.random_brightness(IMAGE, (0.4, 0.5)).max() >= 102


def test_standardised_features_have_the_mean_and_deviation_of_the_data() -> None:
    images = np.random.RandomState(0).uniform(0, 255, (20, 4, 4, 3)).astype(np.float32)
    change = I.ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    with pytest.warns(UserWarning, match="hasn't been fit"):
        np.testing.assert_array_equal(change.standardize(images[0].copy()), images[0])
    change.fit(images)
    batch, labels = next(change.flow(images, np.arange(20), batch_size=20, shuffle=False))
    np.testing.assert_allclose(batch.mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(batch.std((0, 1, 2)), 1, atol=1e-4)
    np.testing.assert_array_equal(labels, np.arange(20))
    augmented = I.ImageDataGenerator(featurewise_center=True, horizontal_flip=True, rescale=2.0)
    augmented.fit(images, augment=True, rounds=2, seed=1)
    np.testing.assert_allclose(augmented.mean.ravel(), 2 * images.mean((0, 1, 2)), rtol=1e-5)


def test_whitened_images_have_no_correlation_between_pixels() -> None:
    random = np.random.RandomState(0)
    images = (random.normal(size=(300, 12)) @ random.normal(size=(12, 12))).reshape(300, 2, 2, 3).astype(np.float32)
    with pytest.warns(UserWarning, match="overrides setting of `featurewise_center`"):
        change = I.ImageDataGenerator(zca_whitening=True)
    change.fit(images)
    rows = np.stack([change.standardize(image.copy()) for image in images]).reshape(300, -1)
    np.testing.assert_allclose(rows.T @ rows / 300, np.eye(12), atol=0.01)


def _folders(root: Path, *names: str) -> None:
    """Three images of one shade in each folder, one of them a folder deeper."""
    for shade, name in enumerate(names):
        (root / name / "deeper").mkdir(parents=True)
        for i, path in enumerate(("b.png", "a.bmp", "deeper/c.png")):
            Image.new("RGB", (6, 5), (100 * shade + i,) * 3).save(root / name / path)


def test_folders_of_images_are_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _folders(tmp_path, "cats", "dogs")
    batches = I.ImageDataGenerator().flow_from_directory(tmp_path, (4, 4), batch_size=4, class_mode="binary", seed=1)
    assert capsys.readouterr().out == "Found 6 images belonging to 2 classes.\n"
    assert isinstance(batches, I.DirectoryIterator)
    assert (batches.class_indices, batches.num_classes, batches.samples) == ({"cats": 0, "dogs": 1}, 2, 6)
    assert batches.filenames[:3] == ["cats/a.bmp", "cats/b.png", "cats/deeper/c.png"]
    assert (batches.image_shape, batches.classes.tolist(), len(batches)) == ((4, 4, 3), [0, 0, 0, 1, 1, 1], 2)
    images, labels = next(batches)
    order = np.random.RandomState(1).permutation(6)[:4]
    shades = np.array([1, 0, 2, 101, 100, 102])  # of the files in their order
    assert images[:, 0, 0, 0].tolist() == shades[order].tolist()
    assert labels.tolist() == (order // 3).tolist()


def test_labels_and_subsets_of_folders_are_as_the_modes_say(tmp_path: Path) -> None:
    _folders(tmp_path, "ants", "cats", "dogs")
    change = I.ImageDataGenerator(validation_split=0.4, rescale=0.5)

    def batch(**options: Any) -> Any:
        return change.flow_from_directory(str(tmp_path), (5, 6), batch_size=9, shuffle=False, **options)[0]

    assert batch(classes=["dogs", "ants"], subset="validation")[1].tolist() == [[1, 0], [0, 1]]
    images, labels = batch(class_mode="input", subset="training", color_mode="grayscale")
    np.testing.assert_array_equal(images, labels)
    assert images[:, 0, 0, 0].tolist() == [0, 1, 50, 51, 100, 101]
    assert batch(class_mode=None, color_mode="rgba").shape == (9, 5, 6, 4)
    assert batch(class_mode="sparse")[1].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    with pytest.raises(ValueError, match="Invalid class_mode: raw"):
        batch(class_mode="raw")


def test_images_of_batches_are_written_to_a_folder(tmp_path: Path) -> None:
    _folders(tmp_path / "from", "ants")
    (tmp_path / "to").mkdir()
    batches = I.ImageDataGenerator().flow_from_directory(
        tmp_path / "from", batch_size=2, seed=1, save_to_dir=str(tmp_path / "to"), save_prefix="a"
    )
    next(batches)
    found = sorted(path.name.split("_")[:2] for path in (tmp_path / "to").iterdir())
    assert found == [["a", str(i)] for i in sorted(np.random.RandomState(1).permutation(3)[:2])]


def test_rows_of_a_table_are_images_with_labels_and_weights(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    _folders(tmp_path, "x", "y")
    table = pandas.DataFrame(
        {"file": ["x/a.bmp", "y/a.bmp", "y/b.png", "none.png"], "kind": ["x", "y", "y", "x"], "value": [1.5, 2, 3, 4]}
    )

    def batch(**options: Any) -> Any:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = I.ImageDataGenerator().flow_from_dataframe(
                table, str(tmp_path), "file", target_size=(2, 2), shuffle=False, **options
            )[0]
        assert [str(each.message)[:32] for each in told] == ["Found 1 invalid image filename(s"]
        return found

    images, labels, weights = batch(y_col="kind", weight_col="value")
    assert images[:, 0, 0, 0].tolist() == [1, 101, 100]
    assert (labels.tolist(), weights.tolist()) == ([[1, 0], [0, 1], [0, 1]], [1.5, 2, 3])
    assert batch(y_col="kind", class_mode="binary")[1].tolist() == [0, 1, 1]
    assert batch(y_col="value", class_mode="raw")[1].tolist() == [1.5, 2, 3]
    many = batch(y_col=["value", "kind"], class_mode="multi_output")[1]
    assert [list(values) for values in many] == [[1.5, 2, 3], ["x", "y", "y"]]
    with pytest.raises(TypeError, match="must be strings"):
        I.ImageDataGenerator().flow_from_dataframe(table, x_col="value")


def test_images_are_read_and_written_as_their_files_say(tmp_path: Path) -> None:
    deep = np.arange(30).reshape(6, 5, 1) * 1000.0
    I.save_img(tmp_path / "deep.png", deep, scale=False)
    loaded = I.img_to_array(I.load_img(str(tmp_path / "deep.png"), color_mode="grayscale"))
    np.testing.assert_array_equal(loaded, deep)
    I.save_img(tmp_path / "flat", np.zeros((2, 2, 4)), file_format="png")
    assert I.load_img(tmp_path / "flat").size == (2, 2)
    with pytest.raises(ValueError, match="Unsupported channel number: 2"):
        I.array_to_img(np.zeros((3, 3, 2)))
    with pytest.raises(ValueError, match="Invalid interpolation method"):
        I.load_img(tmp_path / "flat", target_size=(1, 1), interpolation="cubic")


def test_programs_make_batches_of_the_numbers_of_samples() -> None:
    class Squares(I.Iterator):
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
