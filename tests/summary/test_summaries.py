"""Summary nodes: tags, names, and the messages they give."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import summary


def values(session: tf.Session, tensor: Any, feed: Any = None) -> list[Any]:
    return list(tf.Summary.FromString(session.run(tensor, feed)).value)


# --- tags and names -------------------------------------------------------------------------------------


def test_tags_are_the_full_names(session: tf.Session) -> None:
    plain = summary.scalar("loss", 1.5)
    with tf.name_scope("train"):
        scoped = summary.scalar("loss", 2.5)
        family = summary.scalar("loss", 3.5, family="fam")
    again = summary.scalar("loss", 4.5)
    tags = [(s.op.name, values(session, s)[0].tag) for s in (plain, scoped, family, again)]
    assert tags == [
        ("loss", "loss"),
        ("train/loss", "train/loss"),
        ("train/fam/loss", "fam/train/fam/loss"),
        ("loss_1", "loss_1"),
    ]
    assert [t.name for t in plain.op.inputs] == ["loss/tags:0", "loss/values:0"]


def test_characters_that_names_cannot_have_become_underscores(session: tf.Session) -> None:
    assert values(session, summary.scalar("my loss:0", 1.0))[0].tag == "my_loss_0"
    assert values(session, summary.scalar("/abs", 1.0))[0].tag == "abs"


def test_summaries_join_the_collections_asked_for() -> None:
    first = summary.scalar("a", 1.0)
    second = summary.scalar("b", 1.0, collections=["mine"])
    summary.scalar("c", 1.0, collections=[])
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [first]
    assert tf.get_collection("mine") == [second]


# --- scalars --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8", "int64"])
def test_a_scalar_of_any_real_type(dtype: str, session: tf.Session) -> None:
    value = np.array(3).astype(tf.as_dtype(dtype).as_numpy_dtype) if hasattr(tf, "as_dtype") else np.array(3, dtype)
    assert values(session, summary.scalar("x", tf.constant(value)))[0].simple_value == 3.0


def test_a_scalar_summary_of_a_vector_is_an_error_that_names_the_tag(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not the same shape: \[\] != \[2\] \(tag 'v'\)"):
        session.run(summary.scalar("v", x), {x: [1.0, 2.0]})


# --- histograms: the numbers are those that TensorFlow 2.21 gives ---------------------------------------

LAST = 1.7976931348623157e308

HISTOGRAMS: list[tuple[list[float], list[float], list[float]]] = [
    ([], [LAST], [0]),
    ([0.0], [0, 1e-12, LAST], [0, 1, 0]),
    ([1.0, 1.0], [0.917246389039776, 1.0089710279437536, LAST], [0, 2, 0]),
    ([-1e-13, 1e-13], [-1e-12, 0, 1e-12, LAST], [0, 1, 1, 0]),
    (
        [1.0, 2.0, 3.0],
        [0.917246389039776, 1.0089710279437536, 1.9661990955585713, 2.1628190051144287, 2.8787120958073054,
         3.1665833053880363, LAST],
        [0, 1, 0, 1, 0, 1, 0],
    ),
    (
        [1.0, 2.0, -3.0, 0.0, 1e30],
        [-3.1665833053880363, -2.8787120958073054, 0, 1e-12, 0.917246389039776, 1.0089710279437536,
         1.9661990955585713, 2.1628190051144287, 9.920775621859784e19, LAST],
        [0, 1, 0, 1, 0, 1, 0, 1, 0, 1],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "limits", "counts"), HISTOGRAMS, ids=lambda v: str(len(v)))
def test_histograms_have_tensorflows_buckets(
    data: list[float], limits: list[float], counts: list[float], session: tf.Session
) -> None:
    (value,) = values(session, summary.histogram("h", tf.constant(np.array(data, np.float32))))
    histogram, array = value.histo, np.array(data, np.float32).astype(float)
    assert histogram.num == len(data)
    np.testing.assert_allclose(histogram.bucket_limit, limits)
    np.testing.assert_array_equal(histogram.bucket, counts)
    np.testing.assert_allclose(histogram.sum, array.sum())
    np.testing.assert_allclose(histogram.sum_squares, (array**2).sum())
    assert histogram.min == (array.min() if data else LAST)
    assert histogram.max == (array.max() if data else -LAST)


@pytest.mark.parametrize("size", [100, 5000])
def test_histograms_of_few_and_of_many_values_have_the_same_buckets(size: int, session: tf.Session) -> None:
    data = np.random.default_rng(0).normal(size=size).astype(np.float32)
    data[:4] = [0.0, 1e-12, -1e-12, np.finfo(np.float32).max]
    (value,) = values(session, summary.histogram("h", tf.constant(data)))
    limits, counts = np.array(value.histo.bucket_limit), np.array(value.histo.bucket)
    below = [np.count_nonzero(data.astype(float) < limit) for limit in limits]
    np.testing.assert_array_equal(np.cumsum(counts), below)
    assert value.histo.num == size == counts.sum()
    assert not ((counts[1:] == 0) & (counts[:-1] == 0)).any()  # a run of empty ones is merged


@pytest.mark.parametrize(("value", "word"), [(np.nan, "Nan"), (np.inf, "Infinity")])
def test_a_histogram_refuses_what_is_not_finite(value: float, word: str, session: tf.Session) -> None:
    x = tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{word} in summary histogram for: h"):
        session.run(summary.histogram("h", x), {x: [1.0, value]})


# --- images ---------------------------------------------------------------------------------------------


def pixels(value: Any) -> np.ndarray:
    pil = pytest.importorskip("PIL.Image")
    image = np.asarray(pil.open(io.BytesIO(value.image.encoded_image_string)))
    return image.reshape(value.image.height, value.image.width, value.image.colorspace)


IMAGES: list[tuple[Any, list[list[int]]]] = [
    (np.float32([0, 0.5, 1, 2]).reshape(1, 2, 2, 1), [[0, 63, 127, 255]]),
    (np.float32([-1, 0.5, 1, 2]).reshape(1, 2, 2, 1), [[64, 159, 191, 255]]),
    (np.float32([0, 0, 0, 0]).reshape(1, 2, 2, 1), [[0, 0, 0, 0]]),
    (np.float32([np.nan, 0, 1, np.inf]).reshape(1, 2, 2, 1), [[255, 0, 255, 255]]),
    (np.uint8([0, 5, 1, 255]).reshape(1, 2, 2, 1), [[0, 5, 1, 255]]),
    (np.float32([np.nan, 0, 1, 2, 3, 4]).reshape(1, 1, 2, 3), [[255, 0, 0, 127, 191, 255]]),
    (np.float64([0.2, 0, 1, 2, 3, 4]).reshape(3, 1, 2, 1), [[255, 0], [127, 255], [191, 255]]),
    (np.float16([0.2, 0, 1, 2, 3, 4, 5, 6]).reshape(1, 1, 2, 4), [[8, 0, 42, 85, 127, 170, 212, 255]]),
    (np.float32([0, 0.3, 0.7]).reshape(1, 1, 3, 1), [[0, 109, 254]]),
    (np.float32([np.nan, np.inf]).reshape(1, 1, 2, 1), [[255, 255]]),
]


@pytest.mark.parametrize(("data", "expected"), IMAGES, ids=lambda v: str(np.shape(v)))
def test_images_are_scaled_as_tensorflow_scales_them(
    data: np.ndarray, expected: list[list[int]], session: tf.Session
) -> None:
    found = values(session, summary.image("i", tf.constant(data)))
    assert [v.tag for v in found] == [f"i/image/{n}" for n in range(len(data))]
    assert [pixels(v).reshape(-1).tolist() for v in found] == expected


def test_one_image_has_a_tag_without_a_number_and_others_are_left_out(session: tf.Session) -> None:
    found = values(session, summary.image("i", tf.zeros([4, 2, 2, 3]), max_outputs=1))
    assert [v.tag for v in found] == ["i/image"]
    assert len(values(session, summary.image("j", tf.zeros([4, 2, 2, 3]), max_outputs=2))) == 2


def test_an_image_of_two_channels_is_refused(session: tf.Session) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"last dim 1, 3, or 4, not \[1,2,2,2\]"):
        session.run(summary.image("i", tf.zeros([1, 2, 2, 2])))


# --- sound, text, tensors -------------------------------------------------------------------------------


def test_audio_may_be_slower_than_one_sample_a_second(session: tf.Session) -> None:
    (value,) = values(session, summary.audio("slow", tf.zeros([1, 4, 1]), 0.2))
    assert value.audio.sample_rate == pytest.approx(0.2)
    assert value.audio.encoded_audio_string[24:28] == b"\x01\0\0\0"  # the least that the format can say


def test_audio_is_sixteen_bit_wav(session: tf.Session) -> None:
    clip = np.float32([0, 0.5, -1, 1, 2, -2]).reshape(1, 3, 2)
    (value,) = values(session, summary.audio("a", tf.constant(clip), 44100.0, max_outputs=1))
    assert (value.tag, value.audio.sample_rate, value.audio.num_channels, value.audio.length_frames) == (
        "a/audio",
        44100,
        2,
        3,
    )
    data = value.audio.encoded_audio_string
    assert data[:4] + data[8:12] == b"RIFFWAVE"
    assert np.frombuffer(data[44:], "<i2").tolist() == [0, 16384, -32768, 32767, 32767, -32768]


def test_text_and_tensors_go_as_they_are(session: tf.Session) -> None:
    (value,) = values(session, summary.text("t", tf.constant(["**a**", "b"])))
    assert value.metadata.plugin_data.plugin_name == "text"
    assert tf.make_ndarray(value.tensor).tolist() == [b"**a**", b"b"]
    (value,) = values(session, summary.tensor_summary("x", tf.constant([[1, 2]]), "what it is", display_name="X"))
    assert (value.metadata.display_name, value.metadata.summary_description) == ("X", "what it is")
    assert tf.make_ndarray(value.tensor).tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="dtype string"):
        summary.text("t", tf.constant(1.0))


# --- merging --------------------------------------------------------------------------------------------


def test_merging_puts_all_values_into_one_message(session: tf.Session) -> None:
    a, b = summary.scalar("a", 1.0), summary.histogram("b", [1.0])
    merged = summary.merge_all()
    assert merged.op.name == "Merge/MergeSummary"
    assert [v.tag for v in values(session, merged)] == ["a", "b"]
    assert [v.tag for v in values(session, summary.merge([b, a]))] == ["b", "a"]
    assert [v.tag for v in values(session, summary.merge_all(scope="a"))] == ["a"]
    assert summary.merge_all("nothing") is None


def test_a_tag_in_two_of_the_merged_is_an_error(session: tf.Session) -> None:
    a = summary.scalar("a", 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag a found"):
        session.run(summary.merge([a, a]))


def test_the_names_of_tensorflow_0_take_tags_as_they_are(session: tf.Session) -> None:
    made = [
        summary.scalar_summary("a b", 1.0),
        summary.histogram_summary("h h", [1.0]),
        summary.image_summary("i i", tf.zeros([1, 2, 2, 1])),
    ]
    tags = [v.tag for v in values(session, summary.merge_all_summaries())]
    assert tags == ["a b", "h h", "i i/image/0"]
    assert [s.op.name for s in made] == ["ScalarSummary", "HistogramSummary", "ImageSummary"]
    assert values(session, summary.scalar_summary(["x", "y"], [1.0, 2.0]))[1].simple_value == 2.0


def test_a_description_is_read_from_a_node() -> None:
    node = tf.NodeDef(op="TensorSummary", name="s")
    node.attr["description"].s = b'{"typeHint": "image"}'
    assert tf.summary.get_summary_description(node) == tf.summary.SummaryDescription(type_hint="image")
    node.op = "Const"
    with pytest.raises(ValueError, match="Can't get_summary_description on Const"):
        tf.summary.get_summary_description(node)
