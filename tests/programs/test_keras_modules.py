"""Modules and names that programs import from Keras 2.0 to 2.2, and what `import *` gives of it."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of

STAR = """
from keras.models import *
from keras.layers import *
from keras.optimizers import *
from keras.callbacks import *
from keras.preprocessing.image import *

x = Input((2,))
y = merge([Dense(2, kernel_initializer="ones")(x), x], mode="sum")
model = Model(x, y)
model.compile(adam(0.1), "mse")
print(model.predict(np.ones((1, 2))).tolist(), K.int_shape(y))
print([c.__name__ for c in (Recurrent, Merge, Highway, MaxoutDense, Deconvolution2D, InputSpec, SGD, ModelCheckpoint)])
print(regularizers.l2(0.5).get_config()["l2"], os.path.basename("a/b"), issubclass(DirectoryIterator, Iterator))
"""


def test_a_star_import_gives_the_old_layers_and_what_the_module_imports(tmp_path: Path) -> None:
    # Keras 2.1.6 prints the same, but for the name of Conv2DTranspose as it was called there.
    assert output_of(tmp_path, STAR) == (
        "[[3.0, 3.0]] (None, 2)\n"
        "['Recurrent', 'Merge', 'Highway', 'MaxoutDense', 'Conv2DTranspose', 'InputSpec', 'SGD', 'ModelCheckpoint']\n"
        "0.5 b True\n"
    )


TRAINING = """
import numpy as np
from keras.engine import training_utils
from keras.engine.training import _make_batches, _slice_arrays, _standardize_input_data, _standardize_weights

print(_make_batches(7, 3), [a.tolist() for a in _slice_arrays([np.arange(4)], 1, 3)])
print([a.shape for a in _standardize_input_data({"b": np.zeros(3), "a": np.zeros((3, 2))}, ["a", "b"])])
try:
    _standardize_input_data(np.zeros((3, 2)), ["x"], [(None, 4)], exception_prefix="input")
except ValueError as error:
    print(error)
print(_standardize_weights(np.eye(2)[[0, 1, 1]], class_weight={0: 1.0, 1: 2.0}).tolist())
np.random.seed(0)
print(training_utils.batch_shuffle(np.arange(7), 2).tolist())
"""


def test_programs_prepare_data_with_the_functions_of_keras(tmp_path: Path) -> None:
    # Keras 2.1.6 prints the same.
    assert output_of(tmp_path, TRAINING) == (
        "[(0, 3), (3, 6), (6, 7)] [[1, 2]]\n[(3, 2), (3, 1)]\n"
        "Error when checking input: expected x to have shape (None, 4) but got array with shape (3, 2)\n"
        "[1.0, 2.0, 2.0]\n[4, 5, 2, 3, 0, 1, 6]\n"
    )


QUEUES = """
from keras.utils import GeneratorEnqueuer, OrderedEnqueuer, Sequence

ended = []

class Tens(Sequence):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        return i * 10
    def on_epoch_end(self):
        ended.append(True)

queue = OrderedEnqueuer(Tens())
queue.start(workers=2, max_queue_size=2)
batches = queue.get()
print([next(batches) for _ in range(5)], any(ended))
queue.stop()
queue = GeneratorEnqueuer(i for i in range(4))
queue.start()
print(list(queue.get()), queue.is_running())
queue.stop()
print(queue.is_running())
"""


def test_queues_make_batches_ahead(tmp_path: Path) -> None:
    assert output_of(tmp_path, QUEUES) == "[0, 10, 20, 0, 10] True\n[0, 1, 2, 3] True\nFalse\n"


BACKEND = """
import keras.backend.tensorflow_backend as KTF
from keras import backend as K

print(KTF._preprocess_padding("same"), KTF._preprocess_conv2d_input(K.ones((1, 2, 2, 1)), "channels_last")[1])
print(K.eval(K.conv3d_transpose(K.ones((1, 2, 2, 2, 1)), K.ones((2, 2, 2, 1, 1)), (1, 3, 3, 3, 1)))[0, 1, 1, 1])
print(K.eval(K.separable_conv1d(K.ones((1, 3, 2)), K.ones((2, 2, 1)), K.ones((1, 2, 1)))).tolist())
print(K.get_variable_shape(K.ones((2, 3))), K.is_tensor(K.ones((1,))), K.is_tensor(1), K.py_all([1]))
print(K.eval(K.slice(K.constant([[1, 2], [3, 4]]), [1, 0], [1, 2])).tolist(), KTF._get_available_gpus())
"""


def test_the_backend_has_the_functions_that_layers_of_programs_call(tmp_path: Path) -> None:
    # By hand; Keras 2.2.5 prints the same.
    assert output_of(tmp_path, BACKEND) == (
        "SAME NHWC\n[8.]\n[[[4.0], [4.0]]]\n(2, 3) True False True\n[[3.0, 4.0]] []\n"
    )


PARTS = """
from keras_applications import get_submodules_from_kwargs
from keras_applications.imagenet_utils import _obtain_input_shape
from keras_preprocessing.text import Tokenizer, tokenizer_from_json
from keras_preprocessing.image import ImageDataGenerator
from keras.applications import keras_modules_injection
import keras

@keras_modules_injection
def net(size, **kwargs):
    backend, layers, models, utils = get_submodules_from_kwargs(kwargs)
    x = layers.Input((size,))
    return models.Model(x, layers.Dense(2)(x))

print(net(3).count_params(), get_submodules_from_kwargs({"layers": keras.layers})[1] is keras.layers)
print(_obtain_input_shape(None, 224, 32, "channels_last", True))
words = Tokenizer(num_words=4, oov_token="?")
words.fit_on_texts(["a b b", "c b"])
again = tokenizer_from_json(words.to_json())
print(again.texts_to_sequences(["b c d"]), again.sequences_to_texts([[2, 4, 1]]), sorted(again.index_docs.items()))
"""


def test_the_packages_that_keras_was_made_of_are_there(tmp_path: Path) -> None:
    # Keras 2.2.5 with keras_applications 1.0.8 and keras_preprocessing 1.1.2 prints the same.
    assert output_of(tmp_path, PARTS) == ("8 True\n(224, 224, 3)\n[[2, 1, 1]] ['b ? ?'] [(2, 2), (3, 1), (4, 1)]\n")


def test_the_version_of_keras_is_numbers_which_programs_compare(tmp_path: Path) -> None:
    # Keras on TensorFlow 1.15, and 1.15's own.
    text = (
        "import keras, tensorflow as tf\nfrom distutils.version import StrictVersion\nprint(keras.__version__, "
        "tuple(map(int, keras.__version__.split('.'))) >= (2, 2, 4), StrictVersion(keras.__version__) < '2.3')\n"
        "print(tf.keras.__version__)\n"
    )
    assert output_of(tmp_path, text) == "2.2.5 True True\n2.2.4-tf\n"


def test_the_engine_has_keras_1s_merges_and_tensorflows_network(tmp_path: Path) -> None:
    text = (
        "from tensorflow.python.keras.engine import InputSpec, Network\nfrom keras.engine import Merge, merge\n"
        "from keras.engine.topology import InputLayer, Merge as same\nimport keras\n"
        "print(Merge is same, issubclass(keras.models.Model, Network), merge is keras.layers.merge)\n"
    )
    assert output_of(tmp_path, text) == "True True True\n"


def test_the_backend_takes_the_arguments_of_keras_1(tmp_path: Path) -> None:
    text = """
import numpy as np
from keras import backend as K
from keras.backend import tensorflow_backend as KTF

sample = K.random_normal(shape=(2, 3), mean=0.0, std=0.5)
print(K.int_shape(sample), KTF.eval(K.random_uniform((1,), low=2.0, high=2.0)))
images, kernel = K.variable(np.ones((1, 4, 4, 1))), K.variable(np.ones((3, 3, 1, 2)))
made = K.conv2d(images, kernel, border_mode="same", dim_ordering="tf", image_shape=(1, 4, 4, 1))
print(K.eval(made)[0, :2, :2, 0].tolist(), K.int_shape(K.pool2d(images, (2, 2), border_mode="same", dim_ordering="tf")))
print(K.int_shape(K.resize_images(images, 2, 2, dim_ordering="tf")))
"""
    assert output_of(tmp_path, text) == ("(2, 3) [2.]\n[[4.0, 6.0], [6.0, 9.0]] (1, 4, 4, 1)\n(1, 8, 8, 1)\n")


def test_models_tell_of_their_inputs_as_in_keras_1(tmp_path: Path) -> None:
    text = """
from keras.layers import Dense, Input
from keras.models import Model

shared, a, b = Dense(2), Input((3,)), Input((3,))
shared(a)
model = Model([a, b], shared(b))
print(model.input_layers_node_indices, model.output_layers_node_indices, model.output_layers_tensor_indices)
print([layer.name for layer in model.input_layers], sorted(model.container_nodes))
"""
    assert output_of(tmp_path, text) == (
        "[0, 0] [1] [0]\n['input_1', 'input_2'] ['dense_1_ib-1', 'input_1_ib-0', 'input_2_ib-0']\n"
    )


def test_images_take_the_names_of_formats_of_keras_1(tmp_path: Path) -> None:
    text = """
import numpy as np
from keras.preprocessing.image import ImageDataGenerator, array_to_img, img_to_array

print(*(ImageDataGenerator(dim_ordering=name).data_format for name in ("th", "tf", "default")))
image = array_to_img(np.ones((3, 4, 5)), dim_ordering="th")
print(img_to_array(image, dim_ordering="th").shape, img_to_array(image, dim_ordering="tf").shape)
"""
    assert output_of(tmp_path, text) == "channels_first channels_last channels_last\n(3, 4, 5) (4, 5, 3)\n"


def test_keras_is_called_so(tmp_path: Path) -> None:
    text = """
import keras
import keras.engine.topology, keras.utils.np_utils
from keras.layers import Dense
print(keras.__name__, keras.layers.Dense is Dense, keras.engine.topology.Layer is keras.layers.Layer)
"""
    assert output_of(tmp_path, text) == "keras True True\n"
