"""Strings of Python 2, which were text and data: in files, codecs and tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.running import output_of, penstock_run


@pytest.mark.parametrize(
    "encoded",
    [
        "if type(x) is unicode:\n    x = x.encode('utf8')\n",
        "def f(t):\n    if isinstance(t, unicode): return t.encode('utf-8')\n    return t\nx = f(x)\n",
        "x = x.encode('utf-8') if isinstance(x, unicode) else x\n",
    ],
)
def test_what_is_encoded_since_it_is_unicode_stays_text(encoded: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("w\xf6rd\n", "utf-8")
    text = "x = open('words.txt').read().strip()\n" + encoded + "print x + '.', len(x.encode('utf-8') + b'') > 0\n"
    (tmp_path / "program.py").write_text(text)
    found = penstock_run(tmp_path, "program.py", PYTHONIOENCODING="utf-8")
    assert found.stdout == "w\xf6rd. True\n", found.stderr


def test_temporary_files_of_python_2_take_text_and_bytes_and_give_text(tmp_path: Path) -> None:
    text = (
        "import tempfile\nf = tempfile.TemporaryFile(prefix='x', dir='.')\nprint >> f, 'a b'\nf.write(b'c\\n')\n"
        "f.seek(0)\nprint [line.split(' ') for line in f]\n"
        "with tempfile.NamedTemporaryFile('wb', suffix='.txt') as g:\n    g.write('d')\n    g.flush()\n"
        "    print open(g.name).read()\n"
    )
    assert output_of(tmp_path, text) == "[['a', 'b\\n'], ['c\\n']]\nd\n"


def test_temporary_files_of_python_2_give_back_data(tmp_path: Path) -> None:
    text = (
        "import cPickle, gzip, pickle, tempfile, wave\nimport numpy as np\n"
        "f = tempfile.TemporaryFile()\nnp.save(f, np.arange(300))\nf.seek(0)\nprint np.load(f).sum()\n"
        "f = tempfile.TemporaryFile('w+')\ncPickle.dump({'a': 1}, f)\nf.seek(0)\nprint pickle.load(f)\n"
        "f = tempfile.NamedTemporaryFile(suffix='.wav')\nw = wave.open(f, 'wb')\n"
        "w.setparams((1, 2, 8000, 0, 'NONE', ''))\n"
        "w.writeframes(np.arange(65, 70, dtype='int16').tobytes())\nw.close()\n"
        "print wave.open(open(f.name, 'rb')).getnframes()\nf.seek(0)\nprint wave.open(f, 'rb').getnframes()\n"
        "f = tempfile.TemporaryFile()\nz = gzip.GzipFile(fileobj=f, mode='wb')\nz.write(b'zipped')\nz.close()\n"
        "f.seek(0)\nprint gzip.GzipFile(fileobj=f).read().decode()\n"
    )
    assert output_of(tmp_path, text) == "44850\n{'a': 1}\n5\n5\nzipped\n"


def test_text_in_base_64_is_text(tmp_path: Path) -> None:
    text = (
        "import base64\nprint base64.b64encode('abc') + '!', len(base64.b64decode('YWJj'))\n"
        "print base64.encodestring('abc'), base64.urlsafe_b64encode(b'\\xff\\xfe')\n"
    )
    assert output_of(tmp_path, text) == "YWJj! 3\nYWJj\n __4=\n"


def test_temporary_files_of_python_2_that_others_write_give_text_or_data(tmp_path: Path) -> None:
    text = (
        "import subprocess, sys, tempfile\nimport numpy as np\n"
        "f = tempfile.TemporaryFile()\nsubprocess.check_call([sys.executable, '-c', 'print(7)'], stdout=f)\nf.seek(0)\n"
        "print f.read() == '7\\n', [f.read()]\n"
        "f = tempfile.NamedTemporaryFile(suffix='.npy')\nnp.save(f.name, np.arange(3))\nprint np.load(f).sum()\n"
        "f = tempfile.TemporaryFile()\nf.writelines(['a\\r\\n', 'b'])\nf.seek(-1, 1)\n"
        "print f.read(1) == 'b'\nf.seek(0)\n"
        "print f.readlines(), [f.readline()]\n"
    )
    assert output_of(tmp_path, text) == "True ['']\n3\nTrue\n['a\\r\\n', 'b'] ['']\n"


def test_str_of_data_is_the_data(tmp_path: Path) -> None:
    text = (
        "import numpy as np\nimport tensorflow as tf\ndata = np.arange(250, 254, dtype=np.uint8).tobytes()\n"
        "found = tf.train.BytesList(value=[str(data), str(7)]).value\n"
        "print [ord(found[0][i : i + 1]) for i in range(4)], len(found[1]), str(data[:0]) + 'c', str(2) + str('d')\n"
    )
    assert output_of(tmp_path, text) == "[250, 251, 252, 253] 1 c 2d\n"


def test_strings_of_tensors_are_text_where_they_are_shown_or_joined(tmp_path: Path) -> None:
    text = (
        "import os\nimport tensorflow as tf\nwith tf.Session() as session:\n"
        "    name, names = session.run([tf.constant('a_1'), tf.constant(['b', 'c'])])\n"
        "print '%s' % name, '%s %03d' % (name, 3), '%(n)s' % {'n': name}, '{}.jpg {n}'.format(name, n=names[1])\n"
        "print name, names[0], os.path.join('d', name), '%s' % ([1],), '%.1f' % 2\n"
    )
    assert output_of(tmp_path, text) == "a_1 a_1 003 a_1 a_1.jpg c\na_1 b d/a_1 [1] 2.0\n"


STRINGS = """
import json, re
import tensorflow as tf, numpy as np
def length(path):
    return np.float32(len(path + ".png") if path.endswith("y") and path[0] == "x" else 0)
names = tf.constant(["cat", "dog", u"\\u00e9t\\u00e9"])
with tf.Session() as session:
    some, [name] = session.run([names, [tf.constant("dog")]])
    print name == "dog", name != "dog", name in ["dog"], {"dog": 3}[name], {name: 4}["dog"], list(some).index("dog")
    print {u"\\u00e9t\\u00e9": 5}[some[2]], (some == "cat").tolist(), "og" in name, name < "e", [each for each in name]
    print "-".join(some[:2]), name + "!", "!" + name, "%s" % name, some[:2]
    print session.run(tf.py_func(length, [tf.constant("x/y")], tf.float32)), tf.constant("a").eval() == "a"
    print session.run(tf.py_func(func=length, inp=[tf.constant("x")], Tout=tf.float32))
    print session.run(tf.identity(name)), session.run(names[0], {names: some}), isinstance(name, bytes)
    example = tf.train.Example()
    example.features.feature["a"].bytes_list.value.append(b"<s> b c </s>")
    line = example.features.feature["a"].bytes_list.value[0]
    print line.index("</s>"), line[3:].lstrip(" b"), line.split(" ")[1:3], line.rpartition(" ")[2] == "</s>"
    with open("lines", "w", 0) as file:
        file.write(line.upper())
        file.writelines([name, "\\n"])
        print open("lines").read()
    print np.frombuffer(name, np.uint8), tf.train.BytesList(value=[name]).value[0] == name, json.loads(name[:0] + "[7]")
    print isinstance(name, str), isinstance(name, (int, basestring)), isinstance(name, int), name.join("ab")
    print json.dumps({name: [some[1], (line[:3], 1)]}), re.match("d(.)", name).group(1), (name + "{}").format(1)
"""


def test_strings_that_come_out_of_tensors_are_text_and_data_as_in_python_2(tmp_path: Path) -> None:
    assert output_of(tmp_path, STRINGS).splitlines() == [
        "True False True 3 4 1",
        "5 [True, False, False] True True ['d', 'o', 'g']",
        "cat-dog dog! !dog dog ['cat' 'dog']",
        "7.0 True",
        "0.0",
        "dog cat True",
        "8 c </s> ['b', 'c'] True",
        *("<S> B C </S>dog", ""),
        "[100 111 103] True [7]",
        "True True False adogb",
        '{"dog": ["dog", ["<s>", 1]]} o dog1',
    ]


def test_pickles_are_read_from_files_of_gfile_that_were_opened_for_text(tmp_path: Path) -> None:
    text = (
        "import cPickle\nimport tensorflow as tf\n"
        "with tf.gfile.Open('f', 'w') as f:\n    cPickle.dump({'a': 7}, f, 2)\n"
        "with tf.gfile.Open('f', 'r') as f:\n    print cPickle.load(f)['a'] / 2\n"
        "with tf.gfile.Open('f', 'rb') as f:\n    print cPickle.load(f)\n"
    )
    assert output_of(tmp_path, text) == "3\n{'a': 7}\n"


def test_encoded_text_is_what_literals_are(tmp_path: Path) -> None:
    """What Python 2.7 prints, but for `repr`."""
    text = """# -*- coding: utf-8 -*-
import hashlib, json
word = u'caf\\xe9'
print word.encode('utf-8'), "%s!" % word.encode('utf-8') + '.', ' '.join([w.encode('utf8') for w in [u'a', u'b']])
with open('words.txt', 'w') as f:
    f.write(word.encode('utf-8') + '\\n')
with open('word.bin', 'wb') as f:
    f.write(word.encode('utf-8'))
print open('words.txt').read().decode('utf-8') == word + '\\n', len(open('word.bin', 'rb').read())
ids = dict((key.encode('UTF-8'), value) for key, value in json.loads('{"a": 1}').items())
print ids['a'], 'b' in ids
print hashlib.md5(word.encode('utf-8')).hexdigest(), len(word.encode('utf-8'))
print word.encode('ascii', 'ignore'), word.encode('ascii', errors='replace') + '!', u'a\\n'.encode('unicode_escape')
try:
    word.encode('ascii')
except UnicodeEncodeError:
    print 'refused'
class Model:
    def encode(self, x, y=2):
        return x + y
print Model().encode(1), Model().encode(1, y=3)
"""
    printed = output_of(tmp_path, text)
    assert printed.splitlines() == [
        "café café!. a b",
        "True 5",
        "1 False",
        "07117fe4a1ebd544965dc19573183da2 5",
        "caf caf?! a\\n",
        "refused",
        "3 4",
    ]


def test_arrays_of_characters_are_text(tmp_path: Path) -> None:
    text = """
import numpy as np
desc = np.asarray(["SFH", "HHG"], dtype="c")
print (desc == "S").sum(), desc.shape, "".join(desc[1]), desc.tolist()[0], desc[1, 2] in "GH"
print sum(desc[i, j] == "H" for i in xrange(2) for j in xrange(3)), np.array("FS", "c")[1]
"""
    assert output_of(tmp_path, text) == "1 (2, 3) HHG ['S', 'F', 'H'] True\n3 S\n"
