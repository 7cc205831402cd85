"""tf.keras.utils: pictures of models, files as arrays, several GPUs, and what is inside."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock as tf
from penstock.keras.utils import inner

L = tf.keras.layers


def nested() -> tf.keras.Model:
    part = tf.keras.Sequential([L.Dense(3, input_shape=(4,), name="first"), L.Dense(2, name="second")], name="part")
    x = tf.keras.Input((4,), name="x")
    y = L.Add(name="sum")([part(x), L.Dense(2, name="beside")(x)])
    return tf.keras.Model(x, y, name="whole")


def test_pictures_of_models_show_layers_shapes_and_what_is_inside(tmp_path: Path) -> None:
    model = nested()
    tf.keras.utils.plot_model(model, str(tmp_path / "model.png"), show_shapes=True)
    image = Image.open(tmp_path / "model.png")
    assert image.format == "PNG" and len(set(image.convert("L").tobytes())) > 1
    text = tf.keras.utils.model_to_dot(model, show_shapes=True).to_string()
    assert "sum: Add" in text and "(?, 2)" in text and "first" not in text
    opened = tf.keras.utils.model_to_dot(model, expand_nested=True, show_layer_names=False)
    assert "subgraph" in opened.to_string() and opened.to_string().count('label="Dense"') == 3
    assert opened.create(prog="dot", format="svg").startswith(b"<svg")
    assert Image.open(io.BytesIO(opened.create_jpg())).format == "JPEG"
    with pytest.raises(AttributeError):
        _ = opened.set


def test_arrows_lead_from_each_layer_to_those_that_take_its_result() -> None:
    model = nested()
    found = tf.keras.utils.model_to_dot(model).picture
    label = {box.key: box.label.partition(":")[0] for box in found.boxes}
    assert {(label[a.source], label[a.target]) for a in found.arrows} == {
        ("x", "part"), ("x", "beside"), ("part", "sum"), ("beside", "sum"),
    }  # fmt: skip


def test_data_sets_in_files_are_arrays_of_their_rows(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    x = np.arange(30, dtype=np.float32).reshape(10, 3)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = x
    rows = tf.keras.utils.HDF5Matrix(str(tmp_path / "data.h5"), "x", start=2, end=8, normalizer=lambda r: r * 2)
    assert (len(rows), rows.shape, rows.ndim, rows.size, rows.dtype) == (6, (6, 3), 2, 18, np.float32)
    np.testing.assert_array_equal(rows[1:3], x[3:5] * 2)
    np.testing.assert_array_equal(rows[1], x[3] * 2)
    np.testing.assert_array_equal(rows[[0, 4]], x[[2, 6]] * 2)
    with pytest.raises(IndexError):
        rows[6]
    model = tf.keras.Sequential([L.Dense(1, input_shape=(3,), kernel_initializer="ones")])
    np.testing.assert_allclose(model.predict(rows)[:, 0], (x[2:8] * 2).sum(1))
    for file in tf.keras.utils.HDF5Matrix.refs.values():
        file.close()


def test_a_model_for_several_gpus_computes_parts_of_the_batch() -> None:
    model = nested()
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)):
        several = tf.keras.utils.multi_gpu_model(model, 2)
        x = np.random.RandomState(0).randn(5, 4).astype(np.float32)
        np.testing.assert_allclose(several.predict(x), model.predict(x), rtol=1e-5)
        assert {id(w) for w in several.weights} == {id(w) for w in model.weights}
        assert several.output_names == ["sum"]
    with pytest.raises(ValueError, match="gpus >= 2"):
        tf.keras.utils.multi_gpu_model(model, 1)


def test_a_program_can_define_cells() -> None:
    class Summing(L.AbstractRNNCell):
        @property
        def state_size(self) -> int:
            return 2

        def call(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
            return states[0] + inputs, [states[0] + inputs]

    output = L.RNN(Summing())(tf.ones((1, 3, 2)))
    np.testing.assert_array_equal(tf.keras.backend.eval(output), [[3, 3]])
    with pytest.raises(NotImplementedError):
        _ = L.AbstractRNNCell().state_size


def test_lengths_of_convolutions_are_what_the_layers_have() -> None:
    for padding in ("same", "valid"):
        for size, kernel, stride, dilation in ((7, 3, 2, 1), (8, 2, 1, 2), (9, 4, 3, 1)):
            made = L.Conv1D(1, kernel, stride, padding, dilation_rate=dilation)(tf.ones((1, size, 1)))
            assert inner.conv_output_length(size, kernel, padding, stride, dilation) == made.shape.as_list()[1]
    assert inner.deconv_output_length(4, 3, "valid", stride=2) == 9
    assert inner.deconv_length(4, 2, 3, "same", 1) == 8
    assert inner.conv_input_length(4, 3, "valid", 2) == 9
    assert inner.normalize_tuple(2, 3, "size") == (2, 2, 2)
    with pytest.raises(ValueError, match="size"):
        inner.normalize_tuple((1, 2), 3, "size")


def test_programs_find_what_is_inside_keras() -> None:
    from penstock.python.keras.engine.network import Network
    from penstock.python.keras.utils.conv_utils import conv_output_length
    from penstock.python.keras.utils.generic_utils import has_arg, to_list
    from penstock.python.keras.utils.io_utils import HDF5Matrix

    assert issubclass(tf.keras.Model, Network) and conv_output_length is inner.conv_output_length
    assert has_arg(L.Dense.call, "inputs") and not has_arg(lambda **options: 0, "x") and to_list((1,)) == [(1,)]
    assert has_arg(lambda **options: 0, "x", accept_all=True) and HDF5Matrix is tf.keras.utils.HDF5Matrix
    assert inner.unpack_singleton([3]) == 3 and inner.is_all_none([None, None])
    assert [part.tolist() for part in inner.slice_arrays([np.arange(4), np.arange(4) * 2], [1, 2])] == [[1, 2], [2, 4]]
