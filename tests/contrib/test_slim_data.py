"""tf.contrib.slim's input side: records read in parallel, decoded item by item, and batches made ahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import slim

decoders = slim.tfexample_decoder


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


PIXELS = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


def feature(value: Any) -> Any:
    """Bytes, floats or integers as a tf.train.Feature."""
    values = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    if not values:
        return tf.train.Feature()
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float | np.floating):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**features: Any) -> bytes:
    named = {key.replace("__", "/"): feature(value) for key, value in features.items()}
    made: bytes = tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()
    return made


def decoded(serialized: bytes, features: dict[str, Any], handler: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        decoder = decoders.TFExampleDecoder(features, {"item": handler})
        assert list(decoder.list_items()) == ["item"]
        [item] = decoder.decode(tf.constant(serialized), ["item"])
        session.run(tf.tables_initializer())
        return session.run(item)


def png(pixels: Any) -> bytes:
    with tf.Graph().as_default(), tf.Session() as session:
        found: bytes = session.run(tf.image.encode_png(pixels))
        return found


def write(folder: Path, files: int = 3, records: int = 4) -> list[str]:
    """Files of records with an image of one grey, and that grey as their label."""
    names = []
    for file in range(files):
        names.append(str(folder / f"data-{file}.tfrecord"))
        with tf.python_io.TFRecordWriter(names[-1]) as writer:
            for record in range(records):
                label = file * records + record
                image = png(np.full((2, 3, 3), label, np.uint8))
                writer.write(example(image__encoded=image, image__format=b"png", label=label))
    return names


def data_set(sources: Any) -> Any:
    decoder = decoders.TFExampleDecoder(
        {
            "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
            "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
            "label": tf.FixedLenFeature([1], tf.int64),
        },
        {"image": decoders.Image(shape=[2, 3, 3]), "label": decoders.Tensor("label", shape=[])},
    )
    return slim.dataset.Dataset(sources, tf.TFRecordReader, decoder, 12, {"label": "a number"}, num_classes=12)


def all_of(tensors: Any) -> list[Any]:
    """What each step gives, until there is no more."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with slim.queues.QueueRunners(session):
            while True:
                try:
                    found.append(session.run(tensors))
                except tf.errors.OutOfRangeError:
                    return found


# --- reading --------------------------------------------------------------------------------------------


def test_one_reader_without_shuffling_keeps_the_order_of_files_and_records(tmp_path: Path) -> None:
    names = write(tmp_path)
    provider = slim.dataset_data_provider.DatasetDataProvider(data_set(names), shuffle=False, num_epochs=2)
    assert sorted(provider.list_items()) == ["image", "label", "record_key"] and provider.num_samples() == 12
    image, label, key = provider.get(["image", "label", "record_key"])
    assert image.shape.as_list() == [2, 3, 3] and label.shape.as_list() == []
    found = all_of([image, label, key])
    assert [label for _, label, _ in found] == [*range(12)] * 2
    assert all((image == label).all() for image, label, _ in found)
    assert [key.rpartition(b":")[0].decode() for _, _, key in found[:12]] == [n for n in names for _ in range(4)]


def test_several_readers_that_shuffle_give_each_record_once_an_epoch(tmp_path: Path) -> None:
    write(tmp_path)
    provider = slim.dataset_data_provider.DatasetDataProvider(
        data_set(str(tmp_path / "data-*")), num_readers=3, num_epochs=2, seed=3, common_queue_min=4
    )
    [label] = provider.get(["label"])
    found = [int(label) for label in all_of(label)]
    assert Counter(found) == dict.fromkeys(range(12), 2)
    assert found != [*range(12)] * 2


def test_a_provider_refuses_items_that_it_does_not_have(tmp_path: Path) -> None:
    names = write(tmp_path, 1, 1)
    provider = slim.dataset_data_provider.DatasetDataProvider(data_set(names))
    with pytest.raises(ValueError, match=r"Item \[mask\] is invalid"):
        provider.get(["mask"])
    with pytest.raises(ValueError, match="items must be a list or tuple"):
        provider.get("image")
    with pytest.raises(ValueError, match="`record_key` cannot also be used for a dataset item: label"):
        slim.dataset_data_provider.DatasetDataProvider(data_set(names), record_key="label")
    assert data_set(names).num_classes == 12 and not hasattr(data_set(names), "mask")


def test_a_single_pass_reads_files_in_order_and_once(tmp_path: Path) -> None:
    for name, lines in (("a", "1\n2\n"), ("b", "3\n"), ("c", "4\n5\n")):
        (tmp_path / name).write_text(lines)
    sources = [str(tmp_path / "a"), str(tmp_path / "[b]"), str(tmp_path / "c")]
    _, value = slim.parallel_reader.single_pass_read(sources, tf.TextLineReader)
    assert all_of(value) == [b"1", b"2", b"3", b"4", b"5"]
    assert value.op.name == "single_pass_read/ReaderReadV2"


def test_sources_are_names_and_patterns_of_which_some_file_must_be_there(tmp_path: Path) -> None:
    for name in ("x-1", "x-2", "y"):
        (tmp_path / name).touch()
    files = slim.parallel_reader.get_data_files([str(tmp_path / "x-?"), str(tmp_path / "not here")])
    assert sorted(files) == [str(tmp_path / name) for name in ("not here", "x-1", "x-2")]
    with pytest.raises(ValueError, match="No data files found in"):
        slim.parallel_reader.get_data_files(str(tmp_path / "z*"))


def test_a_parallel_reader_counts_the_records_of_all_its_readers(tmp_path: Path) -> None:
    names = write(tmp_path)
    queue = tf.FIFOQueue(100, [tf.string, tf.string], [[], []])
    reader = slim.parallel_reader.ParallelReader(tf.TFRecordReader, queue, num_readers=2)
    assert reader.num_readers == 2 and reader.common_queue is queue
    files = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    keys, _ = reader.read_up_to(files, 5)
    records, completed = reader.num_records_produced(), reader.num_work_units_completed()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            taken = []
            while len(taken) < 12:
                taken += list(session.run(keys))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(keys)
            assert (session.run(records), session.run(completed)) == (12, 3)
    assert len(set(taken)) == 12


def test_a_parallel_reader_wants_a_queue_of_keys_and_values() -> None:
    for dtypes in ([tf.string], [tf.string, tf.int64]):
        with pytest.raises(TypeError, match=r"common_queue.dtypes must be \[tf.string, tf.string\]"):
            slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(10, dtypes))


# --- batches made ahead ---------------------------------------------------------------------------------


def test_a_prefetch_queue_gives_batches_in_the_form_in_which_they_were_given() -> None:
    counter = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    queue = slim.prefetch_queue.prefetch_queue({"n": counter, "half": tf.to_float(counter) / 2}, capacity=3)
    found = all_of(queue.dequeue())
    assert found == [{"n": n, "half": n / 2} for n in range(6)]
    [summary] = [s for s in tf.get_collection(tf.GraphKeys.SUMMARIES) if s.name.startswith("prefetch_queue")]
    assert summary.name == "prefetch_queue/fraction_of_3_full:0"


def test_a_prefetch_queue_pads_what_has_unknown_dimensions() -> None:
    counter = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    queue = slim.prefetch_queue.prefetch_queue([counter, tf.range(counter)], dynamic_pad=True)
    numbers, ranges = queue.dequeue_many(4)
    [(numbers, ranges)] = all_of([numbers, ranges])
    np.testing.assert_array_equal(numbers, [0, 1, 2, 3])
    np.testing.assert_array_equal(ranges, [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]])


def test_several_threads_of_a_prefetch_queue_lose_nothing_and_repeat_nothing() -> None:
    counter = tf.train.range_input_producer(100, num_epochs=1, shuffle=False).dequeue()
    queue = slim.prefetch_queue.prefetch_queue([counter], num_threads=4)
    assert sorted(int(n) for n in all_of(queue.dequeue())) == list(range(100))


def test_blocks_of_queue_runners_cannot_be_nested() -> None:
    with tf.Session() as session:
        block = slim.queues.QueueRunners
        with block(session), pytest.raises(slim.queues.NestedQueueRunnerError), block(session):
            pass
        with block(session):
            pass


# --- decoding -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["png", "PNG", "none"])
def test_an_image_is_decoded_by_what_it_is(kind: str) -> None:
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, ""),
        "image/format": tf.FixedLenFeature((), tf.string, ""),
    }
    serialized = example(image__encoded=png(PIXELS), image__format=kind.encode())
    np.testing.assert_array_equal(decoded(serialized, features, decoders.Image()), PIXELS)


@pytest.mark.parametrize("kind", [b"raw", b"RAW"])
def test_a_raw_image_is_the_bytes_of_its_pixels(kind: bytes) -> None:
    pixels = np.arange(12, dtype=np.float32).reshape(2, 2, 3) / 3
    features = {"file": tf.FixedLenFeature((), tf.string), "kind": tf.FixedLenFeature((), tf.string)}
    handler = decoders.Image("file", "kind", shape=[2, 2, 3], dtype=tf.float32)
    found = decoded(example(file=pixels.tobytes(), kind=kind), features, handler)
    np.testing.assert_array_equal(found, pixels)


def test_a_jpeg_is_decoded_in_the_way_that_is_asked_for() -> None:
    smooth = np.add.outer(np.arange(16), np.arange(16)).astype(np.uint8)[..., None].repeat(3, 2) * 4
    with tf.Graph().as_default(), tf.Session() as session:
        contents = session.run(tf.image.encode_jpeg(smooth, quality=100))
    features = {"file": tf.FixedLenFeature((), tf.string), "kind": tf.FixedLenFeature((), tf.string)}
    handler = decoders.Image("file", "kind", dct_method="INTEGER_ACCURATE")
    found = decoded(example(file=contents, kind=b"jpeg"), features, handler)
    np.testing.assert_allclose(found.astype(int), smooth, atol=4)
    grey = decoded(example(file=contents, kind=b"jpeg"), features, decoders.Image("file", "kind", channels=1))
    assert grey.shape == (16, 16, 1)


def test_a_vector_of_files_is_decoded_to_a_batch_of_images() -> None:
    features = {
        "files": tf.FixedLenFeature([2], tf.string),
        "kind": tf.FixedLenFeature((), tf.string, default_value="png"),
    }
    handler = decoders.Image("files", "kind", repeated=True)
    found = decoded(example(files=[png(PIXELS), png(PIXELS + 1)]), features, handler)
    np.testing.assert_array_equal(found, [PIXELS, PIXELS + 1])


def test_a_tensor_is_reshaped_by_a_shape_or_by_features() -> None:
    serialized = example(x=np.arange(6.0), height=2, width=3, shape=[3, 2])
    sparse, whole = tf.VarLenFeature(tf.float32), tf.FixedLenFeature([6], tf.float32)
    number = tf.FixedLenFeature((), tf.int64)
    flat = np.arange(6.0, dtype=np.float32)
    for x in (sparse, whole):
        np.testing.assert_array_equal(decoded(serialized, {"x": x}, decoders.Tensor("x")), flat)
        found = decoded(serialized, {"x": x}, decoders.Tensor("x", shape=[3, 2]))
        np.testing.assert_array_equal(found, flat.reshape(3, 2))
        features = {"x": x, "height": number, "width": number}
        found = decoded(serialized, features, decoders.Tensor("x", shape_keys=["height", "width"]))
        np.testing.assert_array_equal(found, flat.reshape(2, 3))
        features = {"x": x, "shape": tf.VarLenFeature(tf.int64)}
        found = decoded(serialized, features, decoders.Tensor("x", shape_keys="shape"))
        np.testing.assert_array_equal(found, flat.reshape(3, 2))
    with pytest.raises(ValueError, match="Cannot specify both shape_keys and shape"):
        decoders.Tensor("x", shape_keys="shape", shape=[2])


def test_a_lookup_gives_what_the_table_has() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        keys, values = tf.constant(["dog", "cat"]), tf.constant([7, 9], tf.int64)
        table = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(keys, values), -1)
        features = {"text": tf.VarLenFeature(tf.string)}
        decoder = decoders.TFExampleDecoder(features, {"label": decoders.LookupTensor("text", table)})
        [label] = decoder.decode(example(text=[b"cat", b"cow", b"dog"]))
        session.run(tf.tables_initializer())
        np.testing.assert_array_equal(session.run(label), [9, -1, 7])


def test_a_backup_is_used_where_there_is_nothing() -> None:
    features = {"a": tf.VarLenFeature(tf.int64), "b": tf.VarLenFeature(tf.int64)}
    handler = decoders.BackupHandler(decoders.Tensor("a"), decoders.Tensor("b"))
    np.testing.assert_array_equal(decoded(example(a=[1, 2], b=[3]), features, handler), [1, 2])
    np.testing.assert_array_equal(decoded(example(b=[3]), features, handler), [3])
    with pytest.raises(ValueError, match="Backup handler is of type"):
        decoders.BackupHandler(decoders.Tensor("a"), "b")


def test_a_callback_makes_an_item_of_its_features() -> None:
    features = {"a": tf.FixedLenFeature([2], tf.int64), "b": tf.FixedLenFeature([], tf.int64)}
    handler = decoders.ItemHandlerCallback(["a", "b"], lambda found: found["a"] * found["b"])
    np.testing.assert_array_equal(decoded(example(a=[1, 2], b=5), features, handler), [5, 10])


def test_boxes_are_rows_of_their_four_sides() -> None:
    sides = {f"box__{side}": [i + 0.5, i + 0.25] for i, side in enumerate(("ymin", "xmin", "ymax", "xmax"))}
    handler = decoders.BoundingBox(["ymin", "xmin", "ymax", "xmax"], "box/")
    expected = np.array([[0.5, 1.5, 2.5, 3.5], [0.25, 1.25, 2.25, 3.25]])
    for kind in (tf.VarLenFeature(tf.float32), tf.FixedLenFeature([2], tf.float32)):
        found = decoded(example(**sides), {key.replace("__", "/"): kind for key in sides}, handler)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="BoundingBox expects 4 keys but got 2"):
        decoders.BoundingBox(["ymin", "xmin"])


def test_a_sparse_item_has_its_indices_in_its_last_dimension() -> None:
    serialized = example(indices=[1, 4, 6], values=[0.5, 1.5, 2.5], shape=[8])
    features = {
        "indices": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
        "shape": tf.FixedLenFeature([1], tf.int64),
    }
    dense = [0, 0.5, 0, 0, 1.5, 0, 2.5, 0]
    for handler in (decoders.SparseTensor(shape_key="shape"), decoders.SparseTensor(shape=[8])):
        found = decoded(serialized, features, handler)
        np.testing.assert_array_equal(found.indices, [[1], [4], [6]])
        np.testing.assert_array_equal(found.values, [0.5, 1.5, 2.5])
        np.testing.assert_array_equal(found.dense_shape, [8])
    found = decoded(serialized, features, decoders.SparseTensor(shape=[8], densify=True))
    np.testing.assert_array_equal(found, dense)


# --- sequences ------------------------------------------------------------------------------------------


def sequence(**lists: Any) -> bytes:
    feature_lists = {
        key: tf.train.FeatureList(feature=[feature(row) for row in rows])
        for key, rows in lists.items()
        if key != "name"
    }
    made: bytes = tf.train.SequenceExample(
        context=tf.train.Features(feature={"name": feature(lists["name"])}),
        feature_lists=tf.train.FeatureLists(feature_list=feature_lists),
    ).SerializeToString()
    return made


def decoded_sequence(serialized: bytes, keys: Any, handlers: dict[str, Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        ragged = {key: tf.VarLenFeature(tf.float32) for key in keys}
        decoder = decoders.TFSequenceExampleDecoder({"name": tf.FixedLenFeature((), tf.string)}, ragged, handlers)
        assert sorted(decoder.list_items()) == sorted(handlers)
        return session.run(decoder.decode(tf.constant(serialized)))


def test_boxes_and_points_of_frames_are_padded_and_counted() -> None:
    rows = [[1.0, 2.0], [], [3.0]]
    serialized = sequence(name=b"clip", **dict.fromkeys(("ymin", "xmin", "ymax", "xmax", "y", "x"), rows))
    found = decoded_sequence(
        serialized,
        ("ymin", "xmin", "ymax", "xmax", "y", "x"),
        {
            "boxes": decoders.BoundingBoxSequence(prefix=""),
            "points": decoders.KeypointsSequence(prefix="", default_value=-2.0),
            "count": decoders.NumBoxesSequence(("ymin", "xmin")),
            "name": decoders.Tensor("name"),
        },
    )
    boxes, points, count, name = found
    expected = np.array([[1.0, 2.0], [-1, -1], [3.0, -1]])
    np.testing.assert_array_equal(boxes, expected[..., None].repeat(4, 2))
    np.testing.assert_array_equal(points, np.where(expected == -1, -2, expected)[..., None].repeat(2, 2))
    np.testing.assert_array_equal(count, [2, 0, 1])
    assert name == b"clip"


def test_frames_whose_sides_differ_in_number_are_an_error_of_the_step() -> None:
    serialized = sequence(name=b"", a=[[1.0, 2.0], []], b=[[1.0], [2.0]])
    with pytest.raises(tf.errors.InvalidArgumentError):
        decoded_sequence(serialized, ("a", "b"), {"count": decoders.NumBoxesSequence(("a", "b"))})
    [count] = decoded_sequence(serialized, ("a", "b"), {"n": decoders.NumBoxesSequence(("a", "b"), False)})
    np.testing.assert_array_equal(count, [2, 0])


def test_a_key_of_both_the_context_and_the_sequences_is_refused() -> None:
    features = {"name": tf.FixedLenFeature((), tf.string)}
    with pytest.raises(ValueError, match="Context and sequence keys are not unique"):
        decoders.TFSequenceExampleDecoder(features, features, {})
