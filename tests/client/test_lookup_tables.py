"""Lookup tables: filled once or written to by steps, saved, shared, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import lookup
from penstock.graph.opdef import get_op


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def words(table: Any, keys: Any) -> Any:
    found = table.lookup(tf.convert_to_tensor(keys))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(found).tolist()


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "vocabulary.txt"
    path.write_text(text)
    return str(path)


def small_table(default: Any = -1, **options: Any) -> lookup.HashTable:
    return lookup.HashTable(lookup.KeyValueTensorInitializer(["a", "b"], np.int64([3, 4])), default, **options)


def test_a_hash_table_gives_the_values_of_keys_and_its_default_for_others() -> None:
    assert words(small_table(), [["a", "x"], ["b", "a"]]) == [[3, -1], [4, 3]]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.bool_])
def test_values_have_any_dtype(dtype: Any) -> None:
    initializer = lookup.KeyValueTensorInitializer(np.int64([7, 8]), np.array([1, 0], dtype))
    found = lookup.HashTable(initializer, np.array(1, dtype)).lookup(tf.constant([8, 7, 0], tf.int64))
    assert found.dtype.as_numpy_dtype == dtype
    assert found.shape.as_list() == [3]
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        assert session.run(found).tolist() == [0, 1, 1]


def test_nodes_are_named_as_in_tensorflow() -> None:
    table = small_table()
    assert table.name == "hash_table"
    assert table.resource_handle.op.type == "HashTableV2"
    assert table.lookup(tf.constant(["a"])).op.name == "hash_table_Lookup"
    assert table.size().op.name == "hash_table_Size"
    assert tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS) == [table.init]
    assert tf.tables_initializer().name == "init_all_tables"


def test_without_tables_the_initializer_does_nothing() -> None:
    nothing = tf.initialize_all_tables()
    assert (nothing.type, nothing.control_inputs) == ("NoOp", [])
    with tf.Session() as session:
        assert session.run(nothing) is None


def test_a_table_must_be_initialised_first() -> None:
    table = small_table()
    found, size = table.lookup(tf.constant(["a"])), table.size()
    with tf.Session() as session:
        for fetch in (found, table.export()):
            with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized: hash_table"):
                session.run(fetch)
        assert session.run(size) == 0
        session.run(table.init)
        session.run(table.init)
        assert session.run(size) == 2


def test_a_table_is_not_initialised_with_other_entries() -> None:
    first, second = small_table(shared_name="t"), None
    second = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], np.int64([9])), -1, shared_name="t")
    with tf.Session() as session:
        session.run(first.init)
        with pytest.raises(tf.errors.FailedPreconditionError, match="different data"):
            session.run(second.init)
        assert session.run(second.lookup(tf.constant("a"))) == 3


def test_one_key_has_one_value() -> None:
    table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a", "a"], np.int64([1, 2])), -1)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="different value"):
        session.run(table.init)


def test_keys_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match="Keys must be dtype"):
        small_table().lookup(tf.constant([1]))


def test_sparse_keys_give_sparse_values() -> None:
    keys = tf.SparseTensor([[0, 1], [2, 0]], ["b", "x"], [3, 2])
    found = small_table().lookup(keys)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        value = session.run(found)
    assert value.values.tolist() == [4, -1]
    assert value.indices.tolist() == [[0, 1], [2, 0]]


def test_entries_can_be_exported() -> None:
    table = small_table()
    with tf.Session() as session:
        session.run(table.init)
        keys, values = session.run(table.export())
    assert dict(zip(keys.tolist(), values.tolist(), strict=True)) == {b"a": 3, b"b": 4}


def test_steps_write_to_a_mutable_table() -> None:
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    keys = tf.placeholder(tf.string, [None])
    insert = table.insert(keys, tf.constant([1, 2], tf.int64))
    remove, found, size, entries = table.remove(keys), table.lookup(keys), table.size(), table.export()
    with tf.Session() as session:
        assert session.run(found, {keys: ["a"]}).tolist() == [-1]
        session.run(insert, {keys: ["a", "b"]})
        session.run(insert, {keys: ["c", "b"]})
        assert session.run(found, {keys: ["c", "b", "a"]}).tolist() == [1, 2, 1]
        session.run(remove, {keys: ["a", "zz"]})
        assert session.run(size) == 2
        assert sorted(session.run(entries)[0].tolist()) == [b"b", b"c"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape"):
            session.run(insert, {keys: ["a"]})


def test_an_import_replaces_all_entries() -> None:
    table = lookup.MutableHashTable(tf.int64, tf.float32, 0.0)
    old = table.insert(tf.constant([1, 2], tf.int64), [1.0, 2.0])
    new = get_op("LookupTableImportV2")(table.resource_handle, tf.constant([3], tf.int64), tf.constant([3.0]))
    found = table.lookup(tf.constant([1, 3], tf.int64))
    with tf.Session() as session:
        session.run(old)
        session.run(new)
        assert session.run(found).tolist() == [0, 3]


def test_a_table_with_an_initializer_is_not_written_to_nor_a_mutable_one_initialised() -> None:
    keys, values = tf.constant(["a"]), tf.constant([1], tf.int64)
    insert = get_op("LookupTableInsertV2")(small_table().resource_handle, keys, values)
    mutable = lookup.MutableHashTable(tf.string, tf.int64, -1)
    start = get_op("InitializeTableV2")(mutable.resource_handle, keys, values)
    with tf.Session() as session:
        with pytest.raises(tf.errors.UnimplementedError, match="not mutable"):
            session.run(insert)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no initializer"):
            session.run(start)


def test_ops_of_another_dtype_than_the_table_are_refused() -> None:
    table = small_table()
    wrong = get_op("LookupTableFindV2")(table.resource_handle, tf.constant([1]), tf.constant(0, tf.int64))
    with tf.Session() as session:
        session.run(table.init)
        with pytest.raises(tf.errors.InvalidArgumentError, match="key dtype string, not int32"):
            session.run(wrong)


def test_an_import_initialises_a_table_of_a_later_graph() -> None:
    handle = get_op("HashTableV2")(key_dtype=tf.string, value_dtype=tf.int64)
    start = get_op("LookupTableImportV2")(handle, tf.constant(["a"]), tf.constant([5], tf.int64))
    found = get_op("LookupTableFindV2")(handle, tf.constant([["a", "b"]]), tf.constant(0, tf.int64))
    assert found.shape.as_list() == [1, 2]
    with tf.Session() as session:
        session.run(start)
        assert session.run(found).tolist() == [[5, 0]]


def test_a_table_exports_a_tuple_with_the_names_of_tensorflow() -> None:
    fixed = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    mutable = lookup.MutableHashTable(tf.string, tf.int64, -1)
    for table, name in [
        (fixed, "hash_table_Export"),
        (mutable, "MutableHashTable_lookup_table_export_values_1/LookupTableExportV2"),
    ]:
        exported = table.export()
        assert type(exported) is tuple
        assert [t.name for t in exported] == [f"{name}:0", f"{name}:1"]
        assert [t.shape.as_list() for t in exported] == [[None], [None]]


def test_values_may_be_vectors() -> None:
    table = lookup.MutableHashTable(tf.string, tf.float32, [0.0, -1.0])
    insert, found = table.insert(["a"], [[1.0, 2.0]]), table.lookup(tf.constant([["a", "b"]]))
    keys, values = table.export()
    assert (keys.shape.as_list(), values.shape.as_list()) == ([None], [None, 2])
    assert table.resource_handle.op.type == "MutableHashTableOfTensorsV2"
    assert found.shape.as_list() == [1, 2, 2]
    with tf.Session() as session:
        session.run(insert)
        assert session.run(found).tolist() == [[[1, 2], [0, -1]]]
        assert [k.tolist() for k in session.run([keys, values])] == [[b"a"], [[1, 2]]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape"):
            session.run(table.insert(["a"], [3.0]))


def test_each_key_may_have_its_own_default() -> None:
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    defaults = tf.constant([7, 8], tf.int64)
    found = get_op("LookupTableFindV2")(table.resource_handle, tf.constant(["a", "b"]), defaults)
    with tf.Session() as session:
        session.run(table.insert(["b"], [1]))
        assert session.run(found).tolist() == [7, 1]


def test_a_dense_table_has_two_keys_that_may_not_be_used() -> None:
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.5, empty_key=-1, deleted_key=-2)
    key = tf.placeholder(tf.int64, [None])
    insert, remove, found = table.insert(key, [1.0]), table.remove(key), table.lookup(key)
    with tf.Session() as session:
        session.run(insert, {key: [4]})
        session.run(insert, {key: [5]})
        session.run(remove, {key: [5]})
        assert session.run(found, {key: [4, 5]}).tolist() == [1, 0.5]
        assert session.run(table.export())[0].tolist() == [4]
        for step in (insert, remove, found):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not allowed"):
                session.run(step, {key: [-2]})
    places = get_op("LookupTableImportV2")(  # as TensorFlow saves such a table
        table.resource_handle, tf.constant([[-1], [6], [-2]], tf.int64), tf.constant([[0.0], [2.0], [0.0]])
    )
    with tf.Session() as session:
        session.run(places)
        assert [e.tolist() for e in session.run(table.export())] == [[6], [2]]
    same = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.5, empty_key=-1, deleted_key=-1)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="cannot be equal"):
        session.run(same.size())


def test_keys_of_a_dense_table_may_be_vectors() -> None:
    table = lookup.MutableDenseHashTable(tf.int64, tf.int64, [0, 0, 0], empty_key=[0, 0], deleted_key=[0, 1])
    insert = table.insert(tf.constant([[1, 2], [3, 4]], tf.int64), [[1, 1, 1], [2, 2, 2]])
    found = table.lookup(tf.constant([[3, 4], [4, 3]], tf.int64))
    assert found.shape.as_list() == [2, 3]
    with tf.Session() as session:
        session.run(insert)
        assert session.run(found).tolist() == [[2, 2, 2], [0, 0, 0]]


@pytest.mark.parametrize("default", [-1, [-1, -1]])
def test_a_saver_saves_the_entries_of_a_mutable_table(default: Any, tmp_path: Path) -> None:
    table = lookup.MutableHashTable(tf.string, tf.int64, default)
    key = tf.placeholder(tf.string, [None])
    insert = table.insert(key, [np.array(default) + 4])
    saver, size, found = tf.train.Saver(), table.size(), table.lookup(key)
    with tf.Session() as session:
        session.run(insert, {key: ["a"]})
        path = saver.save(session, str(tmp_path / "table"))
    assert tf.train.list_variables(path)[0][0] == "MutableHashTable-keys"
    with tf.Session() as session:
        session.run(insert, {key: ["b"]})
        saver.restore(session, path)
        assert session.run(size) == 1
        assert session.run(found, {key: ["a"]}).tolist() == [np.add(default, 4).tolist()]


def test_a_saver_saves_a_table_without_entries(tmp_path: Path) -> None:
    table = lookup.MutableHashTable(tf.int64, tf.int64, -1)
    saver, size, insert = tf.train.Saver(), table.size(), table.insert(np.int64([1]), np.int64([2]))
    with tf.Session() as session:
        path = saver.save(session, str(tmp_path / "table"))
        session.run(insert)
        saver.restore(session, path)
        assert session.run(size) == 0


def test_sessions_share_only_tables_with_a_name() -> None:
    own, shared = small_table(), small_table(shared_name="shared")
    target = "inproc://tables"
    with tf.Session(target) as session:
        session.run([own.init, shared.init])
    with tf.Session(target) as session:
        assert session.run([own.size(), shared.size()]) == [0, 2]
        tf.Session.reset(target)
        assert session.run(shared.size()) == 0


def test_a_shared_table_has_one_kind() -> None:
    small_table(shared_name="t")
    other = lookup.MutableHashTable(tf.string, tf.int64, -1, shared_name="t")
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="mutable False, not True"):
            session.run(other.size())


def test_the_ops_of_early_graphs_work_with_references(tmp_path: Path) -> None:
    types = {"key_dtype": tf.string, "value_dtype": tf.int64}
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
    plain, text = get_op("HashTable")(**types), get_op("HashTable")(**types)
    written, replaced = get_op("MutableHashTable")(**types), get_op("MutableHashTable")(**types)
    starts = [
        get_op("InitializeTable")(plain, keys, values),
        get_op("InitializeTableFromTextFile")(text, write(tmp_path, "b\na\n"), key_index=-2, value_index=-1),
        get_op("LookupTableInsert")(written, keys, values),
        get_op("LookupTableImport")(replaced, keys, values),
    ]
    tables = (plain, text, written, replaced)
    dense = get_op("MutableDenseHashTable")(tf.constant("none"), value_dtype=tf.int64)
    rows = get_op("MutableHashTableOfTensors")(key_dtype=tf.string, value_dtype=tf.int64, value_shape=[2])
    found = [get_op("LookupTableFind")(t, keys, tf.constant(0, tf.int64)) for t in tables]
    with tf.Session() as session:
        session.run(starts)
        assert [f.tolist() for f in session.run(found)] == [[1, 2], [1, 0], [1, 2], [1, 2]]
        assert session.run([get_op("LookupTableSize")(t) for t in tables]) == [2] * 4
        exported = session.run(get_op("LookupTableExport")(written, Tkeys=tf.string, Tvalues=tf.int64))
        assert exported[0].tolist() == [b"a", b"b"]
        session.run(get_op("LookupTableInsert")(dense, keys, values))
        session.run(get_op("LookupTableInsert")(rows, keys, tf.constant([[1, 2], [3, 4]], tf.int64)))
        assert session.run(get_op("LookupTableFind")(dense, keys, tf.constant(0, tf.int64))).tolist() == [1, 2]
        assert session.run(get_op("LookupTableFind")(rows, keys[1], tf.constant([0, 0], tf.int64))).tolist() == [3, 4]


def test_tables_made_in_loops_and_in_functions_of_datasets_are_outside_and_initialised_with_the_others() -> None:
    def found(key: Any) -> Any:
        return lookup.HashTable(lookup.KeyValueTensorInitializer([1, 2], [5, 10], tf.int64, tf.int64), -1).lookup(key)

    keys = np.array([2, 4, 1], np.int64)
    mapped = tf.map_fn(found, tf.constant(keys))
    iterator = tf.data.Dataset.from_tensors(keys).map(found).make_initializable_iterator()
    of_dataset = iterator.get_next()
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        session.run(iterator.initializer)
        assert session.run(mapped).tolist() == session.run(of_dataset).tolist() == [10, -1, 5]


def test_what_a_function_of_a_dataset_looks_up_has_the_shape_of_its_keys() -> None:
    table = small_table()
    mapped = tf.data.Dataset.from_tensors([["a", "b", "c"]]).map(table.lookup)
    nested = tf.data.Dataset.from_tensors(["b"]).flat_map(
        lambda words: tf.data.Dataset.from_tensors(words).map(table.lookup)
    )
    assert mapped.output_shapes.as_list() == [1, 3]
    assert nested.output_shapes.as_list() == [1]
    found = [tf.data.make_initializable_iterator(mapped), tf.data.make_initializable_iterator(nested)]
    with tf.Session() as session:
        session.run([tf.tables_initializer(), *(iterator.initializer for iterator in found)])
        values = session.run([iterator.get_next() for iterator in found])
    assert [value.tolist() for value in values] == [[[3, 4, -1]], [4]]


def test_tables_written_by_steps_are_looked_up_in_loops_and_branches() -> None:
    table = lookup.MutableHashTable(tf.int64, tf.string, "?")
    insert = table.insert(np.int64([0, 1, 2]), ["a", "b", "end"])

    def spelt(row: Any) -> Any:
        def step(text: Any, key: Any) -> Any:
            return tf.cond(tf.equal(key, 2), lambda: "", lambda: table.lookup(key) + text)

        return tf.foldr(step, row, initializer="")

    keys = tf.placeholder(tf.int64, [None, 3])
    joined = tf.map_fn(spelt, keys, dtype=tf.string)
    assert joined.shape.as_list() == [None]
    with tf.Session() as session:
        session.run(insert)
        assert session.run(joined, {keys: [[0, 1, 0], [1, 0, 2], [0, 2, 1]]}).tolist() == [b"aba", b"ba", b"a"]
