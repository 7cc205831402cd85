"""`penstock port`: old programs as text of today that prints the same."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.command.app import main
from penstock.programs.port import port

OLD = """# A comment
import os, tensorflow as tf  # the library
import tensorflow.contrib.slim as slim
from tensorflow.python.framework import ops
from tensorflow import mul

x = tf.placeholder(tf.float32, [None, 2])
a, b = tf.split(1, 2, x)   # the old order
y = tf.concat(1, [tf.sub(a, b),  # inside
                  mul(a, tf.neg(b))], name="c")  # é
s = tf.reduce_sum(y, reduction_indices=[1], keep_dims=True)
n = 7 / 2
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    print "sum", sess.run(s, {x: [[1, 2], [3, 4]]}).tolist(), n
    for i in xrange(2):
        print repr(i)
"""
NEW = """# A comment
import os, penstock as tf  # the library
import penstock.contrib.slim as slim
from penstock.python.framework import ops
from penstock import multiply as mul

x = tf.placeholder(tf.float32, [None, 2])
a, b = tf.split(x, 2, 1)   # the old order
y = tf.concat([tf.subtract(a, b),  # inside
                  mul(a, tf.negative(b))], 1, name="c")  # é
s = tf.reduce_sum(y, axis=[1], keepdims=True)
n = 7 // 2
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("sum", sess.run(s, {x: [[1, 2], [3, 4]]}).tolist(), n)
    for i in range(2):
        print(repr(i))
"""


def test_names_arguments_and_syntax_change_and_nothing_else() -> None:
    assert port(OLD).text == NEW


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "import tensorflow\nfrom tensorflow_core.python.keras import Input",
            "import penstock as tensorflow\nfrom penstock.python.keras import Input",
        ),
        ("import tensorflow\ntensorflow.mul(1, 2)", "import penstock as tensorflow\ntensorflow.multiply(1, 2)"),
        ("import tensorflow.contrib.slim\n", "import penstock.contrib.slim, penstock as tensorflow\n"),
        ("import tensorflow as tf\ntf.nn.rnn", "import penstock as tf\ntf.nn.static_rnn"),
        ("import tensorflow as tf\nnn = tf.nn\nnn.rnn", "import penstock as tf\nnn = tf.nn\nnn.static_rnn"),
        ("import tensorflow as tf\ntf.concat(x, y)", "import penstock as tf\ntf.concat(x, y)"),
        ("import tensorflow as tf\ntf.concat([x], 1)", "import penstock as tf\ntf.concat([x], 1)"),
        (
            "import tensorflow as tf\ntf.concat(concat_dim=0, values=x)",
            "import penstock as tf\ntf.concat(axis=0, values=x)",
        ),
        (
            "import tensorflow as tf\ntf.image.resize_images(x, 3, tf.mul(2, 2), 1)",
            "import penstock as tf\ntf.image.resize_images(x, [3, tf.multiply(2, 2)], 1)",
        ),
        ("import tensorflow as tf\ntf.nn.seq2seq.x", "import penstock as tf\ntf.contrib.legacy_seq2seq.x"),
        ("import numpy as np\nnp.zeros(2, np.int) + np.Inf", "import numpy as np\nnp.zeros(2, int) + np.inf"),
        (
            "'text'\nimport collections\nx = collections.Mapping\n",
            "'text'\nimport collections.abc\nimport collections\nx = collections.abc.Mapping\n",
        ),
        ("x = tf.mul(1, 2)\n", "x = tf.mul(1, 2)\n"),
        (
            "if 1:\n    from collections import Mapping, deque as d  # a\n",
            "if 1:\n    from collections.abc import Mapping\n    from collections import deque as d  # a\n",
        ),
        (
            "from sklearn.cross_validation import train_test_split, KFold\n",
            "from sklearn.model_selection import train_test_split\n"
            "from penstock.programs.removed.sklearn import OldKFold as KFold\n",
        ),
        (
            "from sklearn import cross_validation\ncross_validation.train_test_split(x)\n",
            "from sklearn import model_selection as cross_validation\ncross_validation.train_test_split(x)\n",
        ),
        ("import sklearn.grid_search as s\ns.GridSearchCV", "import sklearn.model_selection as s\ns.GridSearchCV"),
        ("from sklearn.externals import joblib\njoblib.dump", "import joblib\njoblib.dump"),
        ("from scipy.misc import imread, imresize", "from penstock.programs.removed.scipy import imread, imresize"),
        (
            "import scipy.misc\nscipy.misc.imread(f)",
            "import penstock.programs.removed.scipy\nimport scipy.misc\npenstock.programs.removed.scipy.imread(f)",
        ),
        ("import xml.etree.cElementTree as ET", "import xml.etree.ElementTree as ET"),
        ("from itertools import izip, chain\n", "izip = zip\nfrom itertools import chain\n"),
        ("import string\nstring.letters", "import string\nstring.ascii_letters"),
        ("for k in {1: x.has_key(y)}.iteritems():\n    k", "for k in {1: (y in x)}.items():\n    k"),
        ("from keras.layers import Dense\n", "import penstock.as_keras\nfrom keras.layers import Dense\n"),
        ("import tensorflow_hub as hub\nhub.Module(x)", "import penstock.hub as hub\nhub.Module(x)"),
        ("from tensorflow_hub import Module\n", "from penstock.hub import Module\n"),
        ("from scipy import interp, stats", "from numpy import interp\nfrom scipy import stats"),
        ("next(d.iterkeys())", "next(iter(d.keys()))"),
        ("a.tostring(), ET.tostring(a), a.viewitems()", "a.tobytes(), ET.tostring(a), a.items()"),
    ],
)
def test_a_line_is_ported(old: str, new: str) -> None:
    assert port(old).text == new
    assert port(new).text == new


def test_what_is_ported_stays_as_it_is() -> None:
    assert port(NEW).text == NEW


def test_divisions_that_may_have_been_of_whole_numbers_are_told() -> None:
    text = "import tensorflow as tf\nprint 1\na = b / c\nd = len(b) / 2\ne = b / 2.0\n"
    ported = port(text)
    assert ported.text.splitlines()[2:] == ["a = b / c", "d = len(b) // 2", "e = b / 2.0"]
    assert [line for line, _ in ported.notes] == [3]
    assert port("from __future__ import division, print_function\nexec 'a'\nd = 1 / 2\n").notes == []


def test_what_only_a_run_puts_right_is_told() -> None:
    ((line, note),) = port("import tensorflow as tf\nimport gym\n").notes
    assert line == 2
    assert "`penstock run` has it as it was" in note


def test_the_ported_program_runs_with_plain_python(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(port(OLD).text, encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "sum [[-3.0], [-13.0]] 3\n0\n1\n"
    assert "is from before TensorFlow 1.0" not in done.stderr


def test_a_notebooks_cells_are_ported_together_and_the_rest_stays(tmp_path: Path) -> None:
    sources = [
        ["%matplotlib inline\n", "import tensorflow as tf"],
        ["for i in xrange(2):\n", "    !ls\n", "    tf.mul(i, 2)"],
    ]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": each} for each in sources]
    book = {
        "cells": [cells[0], {"cell_type": "markdown", "metadata": {}, "source": "tf.mul é"}, cells[1]],
        "nbformat": 4,
    }
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps(book))
    assert main(["port", str(path), "--write"]) == 0
    first, text, second = json.loads(path.read_text())["cells"]
    assert first["source"] == ["%matplotlib inline\n", "import penstock as tf"]
    assert second["source"] == ["for i in range(2):\n", "    !ls\n", "    tf.multiply(i, 2)"]
    assert text == book["cells"][1]


def test_the_command_prints_a_diff_or_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.py"
    path.write_text(OLD)
    assert main(["port", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "\n-n = 7 / 2\n" in shown
    assert "\n+n = 7 // 2\n" in shown
    assert path.read_text() == OLD
    assert main(["port", str(path), "--output", str(tmp_path / "new.py")]) == 0
    ast.parse((tmp_path / "new.py").read_text())
    path.write_text("def (:\n")
    assert main(["port", str(path)]) == 1
    assert f"{path}: " in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x = " + "{" * 20_000, "x = " + "-" * 20_000 + "1"])
def test_text_that_is_nested_without_end_parses_neither_as_python_3_nor_as_python_2(text: str) -> None:
    with pytest.raises(SyntaxError, match="neither as Python 3 nor as Python 2"):
        port(text)


def test_modules_that_a_program_imports_are_ported_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    main_file, model, layer = tmp_path / "main.py", tmp_path / "model.py", folder / "layer.py"
    main_file.write_text("import os, model\nprint model.run(7)\n")
    model.write_text("import tensorflow as tf\nfrom net.layer import half\n\n\ndef run(n):\n    return half(n)\n")
    layer.write_text(
        "import tensorflow as tf\n\n\ndef half(n):\n    return tf.Session().run(tf.mul(len('1234567') / 2, n))\n"
    )
    (tmp_path / "other.py").write_text("import tensorflow\n")
    main_file.chmod(0o750)
    assert main(["port", str(main_file)]) == 0
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if line.startswith("+++")] == [
        f"+++ {main_file}",
        f"+++ {model}",
        f"+++ {layer}",
    ]
    new = tmp_path / "new.py"
    assert main(["port", str(main_file), "--output", str(new)]) == 0
    assert f"penstock port {model} {layer} --write" in capsys.readouterr().err
    assert main(["port", str(main_file), "--write"]) == 0
    assert main_file.stat().st_mode & 0o777 == 0o750
    done = subprocess.run([sys.executable, str(new)], capture_output=True, text=True, check=True)
    assert done.stdout == "21\n"  # 7 / 2 * 7 in Python 2, in which the modules are since the program is
    assert (tmp_path / "other.py").read_text() == "import tensorflow\n"
    assert main(["port", str(tmp_path), "--write"]) == 0
    assert (tmp_path / "other.py").read_text() == "import penstock as tensorflow\n"


def test_nothing_is_written_if_one_of_the_files_is_no_python(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import tensorflow as tf\n")
    (tmp_path / "b.py").write_text("def (:\n")
    assert main(["port", str(tmp_path), "--write"]) == 1
    assert (tmp_path / "a.py").read_text() == "import tensorflow as tf\n"
    assert main(["port", str(tmp_path), "--output", str(tmp_path / "c.py")]) == 2


def test_a_ported_program_has_keras_of_the_time_unless_it_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text("from keras.layers import Dense\nprint(Dense(output_dim=3, input_dim=2).units)\n")
    assert main(["port", str(path), "--write"]) == 0
    run = [sys.executable, str(path)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "3\n"  # Keras 1's arguments
    (tmp_path / "keras.py").write_text("layers = 1\n")
    path.write_text("import keras\n")
    assert main(["port", str(path), "--write"]) == 0
    assert path.read_text() == "import keras\n"


def test_keras_is_not_replaced_once_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("")
    run = [sys.executable, "-c", "import keras, penstock.as_keras"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "ImportError: Another Keras is already imported: import penstock.as_keras before it." in done.stderr
