"""What Keras's layers are tested with, and names of Keras as a package of its own that few programs need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.running import output_of


def test_layers_are_tested_as_keras_tests_its_own(tmp_path: Path) -> None:
    text = """
import numpy as np
from keras import backend as K
from keras.layers import Dense, Dropout, Layer
from keras.utils.test_utils import keras_test, layer_test

class Wrong(Layer):
    def compute_output_shape(self, input_shape):
        return (input_shape[0], 7)

@keras_test
def check():
    print(layer_test(Dense, {"units": 3}, input_shape=(2, 4)).shape)
    layer_test(Dropout, {"rate": 0.5}, input_data=np.ones((2, 3), "float32"), expected_output=np.ones((2, 3)))
    for kind, options in ((Wrong, {}), (Dense, {"expected_output": np.zeros((2, 3)), "kwargs": {"units": 3}})):
        try:
            layer_test(kind, input_shape=(2, 4), **options)
        except AssertionError as error:
            print("refused")

check()
print([op.name for op in K.get_session().graph.get_operations()])
"""
    left = "['keras_learning_phase/input', 'keras_learning_phase']\n"  # what clear_session makes in Keras 2.2.5, too
    assert output_of(tmp_path, text) == "(2, 3)\nrefused\nrefused\n" + left


def test_functions_become_data_and_functions_again(tmp_path: Path) -> None:
    text = """
from keras.utils.generic_utils import func_dump, func_load

def scaled(by):
    def function(x, y=2):
        return later(x * by + y)
    return function

def later(x):
    return x + 0.5

code, defaults, closure = func_dump(scaled(3))
print(defaults, closure, func_load(code, defaults, closure)(10), func_load([code, [1], closure], globs=globals())(10))
"""
    assert output_of(tmp_path, text) == "(2,) (3,) 32.5 31.5\n"


def test_an_hdf5_file_is_a_dict(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    text = """
import h5py, numpy as np
from keras.utils.io_utils import H5Dict

with H5Dict("a.h5", mode="w") as d:
    d["x"] = np.arange(3)
    d["inner"]["names"] = ["a", "b"]
    d["text"] = "some"
    d["number"] = 7
    d["many"] = ["name of a layer"] * 5000
    d.data.attrs["sizes"] = [2, 3]
with H5Dict("a.h5", mode="r") as d:
    print(d["x"].tolist(), d["inner"]["names"], d["text"], int(d["number"]), sorted(d.keys()), "none" in d)
    print(len(d["many"]), d["many"][-1], d["sizes"].tolist())
    try:
        d["y"] = 1
    except ValueError as error:
        print(error)
print(H5Dict({"a": {"b": 1}})["a"]["b"])
with h5py.File("memory", driver="core", backing_store=False, mode="w") as file:
    file["x"] = 1
    file.flush()
    print(file.fid.get_file_image()[1:4])
"""
    assert output_of(tmp_path, text) == (
        "[0, 1, 2] [b'a', b'b'] some 7 ['inner', 'number', 'x'] False\n"
        "5000 name of a layer [2, 3]\nCannot set item in read-only mode.\n1\nb'HDF'\n"
    )


def test_a_recurrent_convolution_of_a_program_is_made_from_keras_class(tmp_path: Path) -> None:
    text = """
import numpy as np
from keras import backend as K
from keras.layers import Input
from keras.layers.convolutional_recurrent import ConvRecurrent2D
from keras.models import Model

class Summed(ConvRecurrent2D):
    def build(self, input_shape):
        self.states = [None]
        self.kernel = self.add_weight("kernel", self.kernel_size + (input_shape[-1], self.filters), initializer="ones")
        self.built = True

    def get_initial_state(self, inputs):
        zeros = K.sum(K.zeros_like(inputs), axis=1)
        return [K.conv2d(zeros, self.kernel, padding=self.padding)]

    def step(self, x, states):
        h = states[0] + K.conv2d(x, self.kernel, padding=self.padding)
        return h, [h]

x = Input((3, 4, 5, 1))
every, last = Summed(2, 3, padding="same", return_sequences=True)(x), Summed(2, (2, 2))(x)
model = Model(x, [every, last])
print(every._keras_shape, last._keras_shape)
found = model.predict(np.ones((1, 3, 4, 5, 1)))
print(found[0][0, :, 1, 1, 0].tolist(), found[1][0, 0, 0].tolist())
print(model.layers[1].get_config()["kernel_size"], model.layers[1].get_config()["padding"])
"""
    assert output_of(tmp_path, text) == (
        "(None, 3, 4, 5, 2) (None, 3, 4, 2)\n[9.0, 18.0, 27.0] [12.0, 12.0]\n(3, 3) same\n"
    )
