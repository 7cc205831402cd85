"""tf.image's functions against NumPy: what comes out, of which shape, and what is refused."""

from __future__ import annotations

import colorsys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from tests.ops.cases_image_files import file_of
from tests.ops.image_reference import bilinear

X = np.random.RandomState(0).rand(2, 7, 9, 3).astype(np.float32)
U = (X * 255).astype(np.uint8)


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _run(tensor: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(tensor, feeds)


def test_resize_images_takes_one_image_or_many_and_leaves_the_right_size_alone() -> None:
    many = tf.image.resize_images(X, [4, 5])
    one = tf.image.resize_images(X[0], tf.constant([4, 5]))
    assert many.shape == [2, 4, 5, 3] and one.shape == [4, 5, 3]
    np.testing.assert_allclose(_run(many), bilinear(X, 4, 5), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(_run(one), bilinear(X[:1], 4, 5)[0], rtol=1e-4, atol=1e-5)
    same = tf.image.resize_images(U, [7, 9])
    assert same.dtype == tf.uint8 and np.array_equal(_run(same), U)
    kept = _run(tf.image.resize_images(X, [14, 90], tf.image.ResizeMethod.NEAREST_NEIGHBOR, preserve_aspect_ratio=True))
    assert kept.shape == (2, 14, 18, 3)
    assert tf.image.resize_images(X, [4, 50], preserve_aspect_ratio=True).shape == [2, 4, 5, 3]
    with pytest.raises(ValueError, match="3 or 4 dimensions"):
        tf.image.resize_images(X[0, 0], [2, 2])
    with pytest.raises(ValueError, match="2 elements"):
        tf.image.resize_images(X, [2, 2, 2])


def test_cropping_and_padding_keep_the_middle() -> None:
    wide = tf.image.resize_image_with_crop_or_pad(X, 11, 4)
    assert wide.shape == [2, 11, 4, 3]
    expected = np.zeros((2, 11, 4, 3), np.float32)
    expected[:, 2:9] = X[:, :, 2:6]
    np.testing.assert_array_equal(_run(wide), expected)
    np.testing.assert_array_equal(_run(tf.image.crop_to_bounding_box(X[0], 1, 2, 3, 4)), X[0, 1:4, 2:6])
    np.testing.assert_array_equal(_run(tf.image.central_crop(X[0], 0.5)), X[0, 1:6, 2:7])
    padded = _run(tf.image.pad_to_bounding_box(X[0], 1, 2, 12, 14))
    assert padded.shape == (12, 14, 3) and padded.sum() == pytest.approx(X[0].sum(), rel=1e-5)
    np.testing.assert_array_equal(padded[1:8, 2:11], X[0])


def test_a_box_outside_the_image_is_refused_when_built_or_when_run() -> None:
    with pytest.raises(ValueError, match="height must be >= target"):
        tf.image.crop_to_bounding_box(X, 5, 0, 3, 4)
    height = tf.placeholder(tf.int32, [])
    crop = tf.image.crop_to_bounding_box(X, 5, 0, height, 4)
    assert _run(crop, {height: 2}).shape == (2, 2, 4, 3)
    with pytest.raises(errors.InvalidArgumentError, match="height must be >= target"):
        _run(crop, {height: 3})
    with pytest.raises(ValueError, match="central_fraction"):
        tf.image.central_crop(X, 0.0)


def test_images_of_unknown_size_are_cropped_padded_and_resized() -> None:
    image = tf.placeholder(tf.float32, [None, None, 3])
    fixed = tf.image.resize_image_with_crop_or_pad(image, 8, 8)
    small = tf.image.resize_images(tf.image.central_crop(image, 0.5), [3, 3])
    assert fixed.shape == [8, 8, 3] and small.shape == [3, 3, 3]
    a, b = _run([fixed, small], {image: X[0]})
    np.testing.assert_array_equal(a[:7], X[0][:, :8])
    np.testing.assert_allclose(b, bilinear(X[:1, 1:6, 2:7], 3, 3)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", range(-1, 5))
def test_rot90_turns_as_numpy_does(k: int) -> None:
    fed = tf.placeholder(tf.int32, [])
    np.testing.assert_array_equal(_run(tf.image.rot90(X[0], k)), np.rot90(X[0], k))
    np.testing.assert_array_equal(_run(tf.image.rot90(X, fed), {fed: k}), np.rot90(X, k, (1, 2)))


def test_flips_turn_one_image_and_each_of_many() -> None:
    np.testing.assert_array_equal(_run(tf.image.flip_left_right(X)), X[:, :, ::-1])
    np.testing.assert_array_equal(_run(tf.image.flip_up_down(X[0])), X[0, ::-1])
    np.testing.assert_array_equal(_run(tf.image.transpose_image(X[0])), X[0].transpose(1, 0, 2))


def test_random_flips_and_colours_differ_from_step_to_step() -> None:
    for make in (tf.image.random_flip_left_right, tf.image.random_flip_up_down):
        flipped = make(X[0], seed=5)
        with tf.Session() as session:
            found = {session.run(flipped).tobytes() for _ in range(20)}
        other = X[0, :, ::-1] if make is tf.image.random_flip_left_right else X[0, ::-1]
        assert found == {X[0].tobytes(), np.ascontiguousarray(other).tobytes()}
    many = tf.image.random_flip_left_right(np.repeat(X[:1], 64, 0), seed=2)
    flips = (_run(many) != X[:1]).any((1, 2, 3))
    assert 10 < flips.sum() < 54
    for changed in (
        tf.image.random_brightness(X, 0.3), tf.image.random_contrast(X, 0.2, 1.8),
        tf.image.random_hue(X, 0.4), tf.image.random_saturation(X, 0.2, 1.8),
    ):  # fmt: skip
        with tf.Session() as session:
            assert not np.array_equal(session.run(changed), session.run(changed))
    with pytest.raises(ValueError, match="max_delta"):
        tf.image.random_hue(X, 0.6)
    with pytest.raises(ValueError, match="upper"):
        tf.image.random_contrast(X, 1.0, 1.0)


def test_dtypes_are_converted_with_their_scale() -> None:
    np.testing.assert_allclose(_run(tf.image.convert_image_dtype(U, tf.float32)), U / 255, rtol=1e-6)
    back = tf.image.convert_image_dtype(tf.constant([-0.5, 0.0, 0.5, 1.0, 1.5]), tf.uint8, saturate=True)
    assert _run(back).tolist() == [0, 0, 127, 255, 255]
    wide = _run(tf.image.convert_image_dtype(U, tf.uint16))
    np.testing.assert_array_equal(wide, U.astype(np.uint16) * 256)
    np.testing.assert_array_equal(_run(tf.image.convert_image_dtype(wide, tf.uint8)), U)


def test_standardized_images_have_mean_zero_and_deviation_one() -> None:
    found = _run(tf.image.per_image_standardization(U))
    np.testing.assert_allclose(found.mean((1, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(found.std((1, 2, 3)), 1, rtol=1e-4)
    flat = _run(tf.image.per_image_standardization(np.full((4, 4, 1), 7, np.uint8)))
    np.testing.assert_array_equal(flat, np.zeros((4, 4, 1)))


def test_colours_change_as_their_names_say() -> None:
    grey = _run(tf.image.rgb_to_grayscale(X))
    np.testing.assert_allclose(grey[..., 0], X @ np.array([0.2989, 0.587, 0.114], np.float32), rtol=1e-5)
    np.testing.assert_array_equal(_run(tf.image.grayscale_to_rgb(grey)), np.repeat(grey, 3, -1))
    np.testing.assert_allclose(_run(tf.image.adjust_brightness(X, 0.25)), X + 0.25, rtol=1e-6)
    assert _run(tf.image.adjust_brightness(U, 0.5)).max() == 255
    mean = X.mean((1, 2), keepdims=True)
    np.testing.assert_allclose(_run(tf.image.adjust_contrast(X, 0.5)), (X + mean) / 2, rtol=1e-4)
    np.testing.assert_allclose(_run(tf.image.adjust_gamma(X, 2.0, 0.5)), 0.5 * X**2, rtol=1e-5)
    h, s, v = colorsys.rgb_to_hsv(*map(float, X[0, 0, 0]))
    turned = _run(tf.image.adjust_hue(X, 0.2))[0, 0, 0]
    np.testing.assert_allclose(turned, colorsys.hsv_to_rgb((h + 0.2) % 1, s, v), rtol=1e-4)
    dull = _run(tf.image.adjust_saturation(X, 0.1))[0, 0, 0]
    np.testing.assert_allclose(dull, colorsys.hsv_to_rgb(h, s * 0.1, v), rtol=1e-4)
    for there, back in ((tf.image.rgb_to_yiq, tf.image.yiq_to_rgb), (tf.image.rgb_to_yuv, tf.image.yuv_to_rgb)):
        np.testing.assert_allclose(_run(back(there(X))), X, atol=1e-4)


def test_measures_of_two_images_agree_with_their_formulas() -> None:
    error = ((X - X * 0.9) ** 2).mean((1, 2, 3))
    np.testing.assert_allclose(_run(tf.image.psnr(X, X * 0.9, 1.0)), 10 * np.log10(1 / error), rtol=1e-4)
    big = np.random.RandomState(1).rand(1, 16, 16, 3).astype(np.float32)
    assert _run(tf.image.ssim(big, big, 1.0))[0] == pytest.approx(1.0)
    assert _run(tf.image.ssim(big, 1 - big, 1.0))[0] < 0.1
    edges = np.abs(np.diff(X, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(X, axis=2)).sum((1, 2, 3))
    np.testing.assert_allclose(_run(tf.image.total_variation(tf.constant(X))), edges, rtol=1e-5)


def test_four_channels_are_for_a_png_and_only_an_error_where_it_runs() -> None:
    picture = np.random.RandomState(3).randint(0, 255, (4, 4, 3)).astype(np.uint8)
    png, jpeg = (_run(code(picture)) for code in (tf.image.encode_png, tf.image.encode_jpeg))
    contents, four = tf.placeholder(tf.string, []), tf.placeholder(tf.bool, [])
    kinds: tuple[Any, ...] = (tf.image.decode_jpeg, tf.image.decode_png, tf.image.decode_image)
    for decode in kinds:
        y = tf.cond(four, lambda: decode(contents, channels=4), lambda: decode(contents, channels=3))  # noqa: B023
        assert _run(y, {contents: jpeg, four: False}).shape == (4, 4, 3)
        opaque = np.concatenate([picture, np.full((4, 4, 1), 255, np.uint8)], -1)
        np.testing.assert_array_equal(_run(y, {contents: png, four: True}), opaque)
        with pytest.raises(errors.InvalidArgumentError, match="channels must be 0, 1, or 3 for JPEG"):
            _run(y, {contents: jpeg, four: True})
    with pytest.raises(ValueError, match="channels must be in"):
        tf.image.decode_image(contents, channels=2)


def test_a_picture_goes_to_a_file_and_back() -> None:
    picture = np.random.RandomState(3).randint(0, 255, (12, 10, 3)).astype(np.uint8)
    coded = tf.image.encode_png(picture)
    np.testing.assert_array_equal(_run(tf.image.decode_image(coded)), picture)
    np.testing.assert_array_equal(_run(tf.image.decode_png(coded, channels=3)), picture)
    jpeg = _run(tf.image.encode_jpeg(np.full((8, 8, 3), 90, np.uint8), quality=100))
    assert np.abs(_run(tf.image.decode_jpeg(jpeg)).astype(int) - 90).max() <= 2
    contents = tf.placeholder(tf.string, [])
    decoded = tf.image.decode_jpeg(contents, channels=3)
    assert decoded.shape.as_list() == [None, None, 3]
    with tf.Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match=r"(?s)Unknown image file format.*test_image_functions"):
            session.run(decoded, {contents: b"\xff\xd8 but no more"})
        assert session.run(decoded, {contents: file_of(picture, "PNG")[()]}).shape == (12, 10, 3)


def test_a_jpeg_file_that_is_cut_is_refused_recovered_or_accepted() -> None:
    picture = np.random.RandomState(0).randint(1, 256, (300, 200, 3)).astype(np.uint8)
    whole = file_of(picture, "JPEG")[()]
    cut = whole[: len(whole) // 2]
    with pytest.raises(errors.InvalidArgumentError, match="Invalid JPEG data"):
        _run(tf.image.decode_jpeg(cut))
    grey = _run(tf.image.decode_jpeg(cut, try_recover_truncated=True))
    assert (grey[-50:] == 128).all() and grey[:100].std() > 20
    black = _run(tf.image.decode_jpeg(cut, acceptable_fraction=0.4))
    assert not black[-50:].any() and np.abs(black[:100].astype(int) - grey[:100]).max() == 0
    with pytest.raises(errors.InvalidArgumentError, match="rows"):
        _run(tf.image.decode_jpeg(cut, acceptable_fraction=0.6))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP"])
def test_a_damaged_file_is_an_image_or_an_invalid_argument(kind: str) -> None:
    random = np.random.RandomState(7)
    whole = file_of(random.randint(0, 256, (9, 7, 3)).astype(np.uint8), kind)[()]
    contents = tf.placeholder(tf.string, [])
    decoded, refused = tf.image.decode_image(contents), 0
    with tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about what it doubts
        for _ in range(150):
            data = bytearray(whole)
            for place in random.randint(0, len(data), random.randint(1, 6)):
                data[place] = random.randint(256)
            try:
                session.run(decoded, {contents: bytes(data[: random.randint(1, 2 * len(data))])})
            except errors.InvalidArgumentError:
                refused += 1
    assert refused > 10


def test_an_image_of_unknown_rank_is_one_image() -> None:
    image = tf.placeholder(tf.float32)
    made = [
        tf.image.resize_image_with_crop_or_pad(image, 5, 5),
        tf.image.pad_to_bounding_box(image, 1, 1, 12, 12),
        tf.image.flip_left_right(image),
        tf.image.rot90(image),
        tf.image.grayscale_to_rgb(image[..., :1]),
    ]
    assert made[0].shape.as_list() == [5, 5, None]
    crop, padded, flipped, turned, grey = _run(made, {image: X[0]})
    np.testing.assert_array_equal(crop, X[0, 1:6, 2:7])
    np.testing.assert_array_equal(padded[1:8, 1:10], X[0])
    np.testing.assert_array_equal(flipped, X[0, :, ::-1])
    np.testing.assert_array_equal(turned, np.rot90(X[0]))
    np.testing.assert_array_equal(grey, X[0][..., [0, 0, 0]])
    with pytest.raises(ValueError, match="contains no shape"):
        tf.image.resize_images(image, [2, 2])


def test_similarity_is_measured_where_the_number_of_channels_is_unknown() -> None:
    image = tf.placeholder(tf.float32, [None, None, None, None])
    big = np.random.RandomState(1).rand(2, 12, 13, 2).astype(np.float32)
    similarity = tf.image.ssim(image, image * 0.5, 1.0)
    known = tf.image.ssim(big, big * np.float32(0.5), 1.0)
    np.testing.assert_allclose(_run(similarity, {image: big}), _run(known), rtol=1e-5)


def test_half_precision_becomes_wide_integers_without_overflow() -> None:
    wide = tf.image.convert_image_dtype(tf.constant([0.0, 0.25, 1.0], tf.half), tf.uint16)
    assert _run(wide).tolist() == [0, 16383, 65535]


def test_the_noise_around_a_glimpse_is_another_in_each_session() -> None:
    glimpse = tf.image.extract_glimpse(X, [20, 20], np.zeros((2, 2), np.float32))
    one, other = _run(glimpse), _run(glimpse)
    np.testing.assert_array_equal(one[:, 7:13, 6:14], other[:, 7:13, 6:14])
    assert (one[:, 0] != other[:, 0]).any()


def test_gradients_flow_through_resizing_and_patches() -> None:
    x = tf.placeholder(tf.float32, [1, 4, 4, 1])
    patches = tf.extract_image_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    (grad,) = tf.gradients(tf.reduce_sum(patches * patches) + tf.reduce_sum(tf.image.resize_images(x, [8, 8])), x)
    value = X[:1, :4, :4, :1]
    expected = 2 * value + 4.0  # each pixel is in one patch, and bilinear weights of twice the size add up to 4 inside
    found = _run(grad, {x: value})
    np.testing.assert_allclose(found[:, 1:3, 1:3], expected[:, 1:3, 1:3], rtol=1e-5)


def test_png_files_of_smooth_images_are_small() -> None:
    rows, columns = np.arange(200)[:, None], np.arange(256)[None]
    ramp = np.stack(np.broadcast_arrays(rows, columns, (rows + columns) >> 1), -1).astype(np.uint8)
    for dtype, most in ((np.uint8, 750), (np.uint16, 1500)):
        for channels in (1, 2, 3):
            image = ramp[..., :channels].astype(dtype)
            file = tf.image.encode_png(image, compression=7)
            found, back = _run([file, tf.image.decode_png(file, dtype=dtype)])
            assert len(found) <= most
            np.testing.assert_array_equal(back, image)
    noise = np.random.RandomState(0).randint(0, 256, (5, 9, 4), np.uint8)
    np.testing.assert_array_equal(_run(tf.image.decode_png(tf.image.encode_png(noise))), noise)
