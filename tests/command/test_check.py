"""What `penstock check` finds in programs without running them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.command.app import main
from penstock.programs.check import check


def found_in(folder: Path, text: str) -> list[tuple[int, str, str]]:
    path = folder / "program.py"
    path.write_text(text)
    return [(each.line, each.kind, each.what) for each in check([path]).findings]


def test_what_penstock_has_is_no_finding(tmp_path: Path) -> None:
    text = """
import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.contrib import rnn as cells
from tensorflow.python.framework import ops
from tensorflow.examples.tutorials.mnist import input_data
import local

x = tf.placeholder(tf.float32, shape=[None, 3], name="x")
y = slim.fully_connected(x, 4, scope="a")
cell = cells.BasicLSTMCell(num_units=4, state_is_tuple=True)
cell.anything_at_all(x.whatever)
ops.reset_default_graph()
"""
    (tmp_path / "local.py").write_text("")
    assert found_in(tmp_path, text) == []


def test_what_it_lacks_is_told_from_what_tensorflow_lacks_too(tmp_path: Path) -> None:
    text = "import tensorflow as tf\nnn = tf.nn\nnn.reluu(1)\ntf.contrib.session_bundle.exporter.Exporter()\n"
    assert found_in(tmp_path, text) == [
        (3, "unknown", "tf.nn.reluu"),
        (4, "missing", "tf.contrib.session_bundle.exporter.Exporter"),
    ]


def test_what_is_there_only_to_say_that_it_cannot_be_is_in_the_way(tmp_path: Path) -> None:
    text = "import tensorflow as tf\ntf.load_op_library('ops.so')\ntf.app.run()\ntf.sysconfig.get_include()\n"
    assert found_in(tmp_path, text) == [
        (2, "missing", "tf.load_op_library"),
        (4, "missing", "tf.sysconfig.get_include"),
    ]


def test_files_are_known_that_the_only_call_of_a_function_names(tmp_path: Path) -> None:
    text = """
import os
def load(path, more="more.txt"):
    return os.listdir(path), open(more).read()
def twice(name):
    return open(name)
load("raw/")
twice("a.txt"), twice("b.txt")
"""
    assert found_in(tmp_path, text) == [(4, "data", "raw/"), (4, "data", "more.txt")]


def test_a_file_that_is_read_unless_another_is_given_is_missed(tmp_path: Path) -> None:
    text = "def load(path=None):\n    return open(path or 'data/text.txt').read()\n"
    assert found_in(tmp_path, text) == [(2, "data", "data/text.txt")]


def test_what_keras_had_as_a_package_of_its_own_is_given_and_the_rest_is_not(tmp_path: Path) -> None:
    text = """
from keras import backend as K, objectives, initializations
from keras.layers import activations
from keras.layers.core import Merge
from keras.legacy import interfaces
K.set_image_dim_ordering("tf")
K.tf.constant(1)
K.nothing_at_all()
"""
    assert found_in(tmp_path, text) == [(8, "missing", "tf.python.keras.backend.nothing_at_all")]


def test_keras_is_tensorflows(tmp_path: Path) -> None:
    text = "import keras\nfrom keras.layers.core import Dense\nkeras.layers.Denze(1)\nDense(units=1)\n"
    assert [each[:2] for each in found_in(tmp_path, text)] == [(3, "missing")]
    (tmp_path / "keras.py").write_text("")
    assert found_in(tmp_path, text) == []


def test_the_packages_that_tensorflow_is_in_are_tensorflow(tmp_path: Path) -> None:
    text = "from tensorflow_core.python.keras.layers import Dense\nfrom tensorflow_core.python.keras import Denze\n"
    assert [each[:2] for each in found_in(tmp_path, text)] == [(2, "missing")]


def test_arguments_that_a_function_does_not_take_are_named(tmp_path: Path) -> None:
    text = "import tensorflow as tf\ntf.matmul(a=1, b=2, transpose_c=True)\n"
    path = tmp_path / "program.py"
    path.write_text(text)
    (found,) = check([path]).findings
    assert (found.line, found.kind, found.message) == (2, "argument", "tf.matmul takes no argument 'transpose_c'")


def test_arguments_of_what_a_class_has_are_its_own(tmp_path: Path) -> None:
    text = """import tensorflow as tf
tf.data.Dataset.from_generator(range, output_types=tf.int32, output_shapes=[])
tf.data.Dataset.range(5).batch(batch_size=2)
tf.data.Dataset.from_tensor_slices(values=[1])
"""
    assert found_in(tmp_path, text) == [(4, "argument", "tf.data.Dataset.from_tensor_slices")]


def test_packages_that_are_not_installed_are_named_unless_the_program_is_ready_for_that(tmp_path: Path) -> None:
    text = """
import nowhere.inner
try:
    import nothing
except ImportError:
    nothing = None
"""
    assert found_in(tmp_path, text) == [(2, "package", "nowhere")]


def test_a_file_that_does_not_parse_is_a_finding_and_the_others_are_checked(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("def (:\n")
    (tmp_path / "new.py").write_text("import tensorflow as tf\ntf.nn.reluu(1)\n")
    found = check([tmp_path])
    assert len(found.files) == 2
    assert [(Path(each.file).name, each.kind) for each in found.findings] == [
        ("new.py", "unknown"),
        ("old.py", "syntax"),
    ]
    assert found.lacks


def test_brackets_in_brackets_without_end_do_not_parse(tmp_path: Path) -> None:
    assert found_in(tmp_path, "x = " + "{" * 20_000) == [(1, "syntax", "")]


def test_a_notebook_of_python_2_may_be_empty(tmp_path: Path) -> None:
    book = {"cells": [], "metadata": {"kernelspec": {"name": "python2"}}, "nbformat": 4, "nbformat_minor": 2}
    (tmp_path / "book.ipynb").write_text(json.dumps(book))
    assert check([tmp_path / "book.ipynb"]).findings == []


def test_inner_names_and_folders_without_programs_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 1
    assert "no Python program" in capsys.readouterr().err
    (tmp_path / "a.py").write_text("from tensorflow.python.eager import tape\n")
    (found,) = check([tmp_path]).findings
    assert (found.kind, found.message.split(" is ")[0]) == ("missing", "tensorflow.python.eager.tape")


def test_nothing_is_run(tmp_path: Path) -> None:
    assert found_in(tmp_path, "import tensorflow\nraise SystemExit(3)\n") == []


def test_the_command_prints_file_and_line_and_has_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\ntf.nn.reluu(1)\n")
    assert main(["check", str(path)]) == 1
    assert f"{path}:2: unknown: tf.nn has no 'reluu'" in capsys.readouterr().out
    assert main(["check", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["findings"][0]["line"], told["findings"][0]["level"]) == (2, "lacks")
    assert told["names"] == ["tensorflow", "tensorflow.nn.reluu"]
    assert main(["check", str(path.with_name("none.py"))]) == 2
    path.write_text("import tensorflow as tf\ntf.nn.relu(1)\n")
    assert main(["check", str(path)]) == 0


def test_what_run_deals_with_is_told_and_is_not_in_the_way(tmp_path: Path) -> None:
    text = """import tensorflow as tf, numpy as np
from collections import Mapping
from sklearn.cross_validation import train_test_split
print tf.mul(1, 2), np.float(3), {}.has_key(1)
print tf.mul(1, 2)
"""
    (tmp_path / "program.py").write_text(text)
    found = check([tmp_path / "program.py"])
    handled = [(each.line, each.kind, each.what) for each in found.findings if each.level == "handled"]
    assert handled == [
        (2, "removed", "collections.Mapping"),
        (3, "removed", "sklearn.cross_validation"),
        (4, "python 2", "Python 2"),
        (4, "removed", "numpy.float"),
        (4, "renamed", "tf.mul"),
    ]
    assert found.packages["sklearn"].pip == "scikit-learn"


def test_what_nothing_has_any_more_is_in_the_way(tmp_path: Path) -> None:
    text = "from scipy.misc import lena\npicture = lena()\n"
    (tmp_path / "program.py").write_text(text)
    lost = [each for each in check([tmp_path / "program.py"]).findings if each.kind == "lost"]
    assert [(each.line, "scipy.datasets" in each.message) for each in lost] == [(1, True)]


def test_packages_have_their_names_of_pip(tmp_path: Path) -> None:
    text = "import cv2.nothing, PIL, mpl_toolkits.mplot3d, google.protobuf.text_format\n"
    (tmp_path / "program.py").write_text(text)
    found = {each.module: each.pip for each in check([tmp_path / "program.py"]).packages.values()}
    assert found == {"cv2": "opencv-python", "PIL": "pillow", "mpl_toolkits": "matplotlib", "google": "protobuf"}


def test_modules_beside_a_program_are_checked_wherever_it_looks_for_them(tmp_path: Path) -> None:
    (tmp_path / "lib" / "nets").mkdir(parents=True)
    (tmp_path / "lib" / "nets" / "__init__.py").write_text("from .cells import A\n")
    (tmp_path / "lib" / "nets" / "cells.py").write_text("import tensorflow as tf\nA = tf.reluu\n")
    (tmp_path / "lib" / "unused.py").write_text("import tensorflow as tf\ntf.unused\n")
    text = """import os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE + "/lib")
import nets
"""
    (tmp_path / "program.py").write_text(text)
    found = check([tmp_path / "program.py"])
    assert [(Path(each.file).name, each.line, each.what) for each in found.findings] == [("cells.py", 2, "tf.reluu")]
    assert len(found.files) == 3


def test_modules_that_are_above_a_program_are_told_with_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "train.py").write_text("import net.parts\n")
    (tmp_path / "net" / "parts.py").write_text("")
    (found,) = check([tmp_path / "net" / "train.py"]).findings
    assert (found.kind, f"PYTHONPATH={tmp_path.resolve()}" in found.message) == ("module", True)
    assert check([tmp_path]).findings == []


def test_a_module_of_a_package_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("")
    assert found_in(tmp_path, "from . import parts\n") == [(1, "module", ".")]


def test_files_that_a_program_reads_are_found_or_in_the_way(tmp_path: Path) -> None:
    text = """
import os
import numpy as np
import pandas as pd
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
tf.flags.DEFINE_string("data", "here", "")
FLAGS = tf.flags.FLAGS
FOLDER = "here"
np.load(os.path.join(FOLDER, "a.npy"))
pd.read_csv(FLAGS.data + "/%s.csv" % "b")
tf.data.TFRecordDataset(["c.tfrecord", f"{FOLDER}/d.tfrecord"])
input_data.read_data_sets("mnist")
open("made.txt", "w").write("")
open("made.txt").read()
if os.path.exists("perhaps.txt"):
    open("perhaps.txt").read()
open(unknown).read()
tf.estimator.RunConfig(model_dir="trained/" + FOLDER)
os.listdir("trained/here/export")
"""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.npy").write_text("")
    (tmp_path / "here" / "d.tfrecord").write_text("")
    expected = [
        (11, "data", "here/b.csv"),
        (12, "data", "c.tfrecord"),
        (13, "data", "mnist/train-images-idx3-ubyte*"),
    ]
    found = [each for each in found_in(tmp_path, text) if each[1] == "data"]
    assert found == expected
    data = check([tmp_path / "program.py"]).data
    assert [each.path for each in data if each.found] == ["here/a.npy", "here/d.tfrecord"]
    assert [each.path for each in data if each.made] == ["made.txt", "perhaps.txt", "trained/here/export"]


def test_downloads_are_listed(tmp_path: Path) -> None:
    text = "from six.moves import urllib\nurllib.request.urlretrieve('http://a/b', 'b')\nopen('b')\n"
    (tmp_path / "program.py").write_text(text)
    found = check([tmp_path / "program.py"])
    assert [(each.line, each.address) for each in found.downloads] == [(2, "http://a/b")]
    assert [each for each in found.findings if each.kind == "data"] == []


def test_cells_of_notebooks_are_checked_together(tmp_path: Path) -> None:
    sources = ["%matplotlib inline\nimport tensorflow as tf\n!pip install x", "x = 1\nprint tf.reluu"]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": each} for each in sources]
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 2}))
    found = check([tmp_path]).findings
    assert [(each.file.rpartition("/")[2], each.line, each.level, each.what) for each in found] == [
        ("book.ipynb, cell 2", 2, "lacks", "tf.reluu"),
        ("book.ipynb, cell 1", 1, "handled", "%matplotlib"),
        ("book.ipynb, cell 1", 3, "handled", "!"),
        ("book.ipynb, cell 2", 2, "handled", "Python 2"),
    ]


def test_what_penstock_has_in_the_place_of_a_package_is_not_to_be_installed(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import keras, tensorflow_hub as hub\n")
    found = check([path])
    assert not found.lacks
    assert not found.packages
