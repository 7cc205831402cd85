"""Python 2 text, converted in memory: what it prints is what Python 2.7 prints."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from penstock.programs.python2_parsing import refactored
from penstock.programs.source import translate
from tests.programs.running import output_of, penstock_run

CASES = {
    "print statements": ('print "a", 1, "b"\nprint\nprint "%d" % 3,\nprint("x")\n', "a 1 b\n\n3 x\n"),
    "whole numbers are divided": ("x = 7\nprint x / 2, -7 / 2, 7 / 2.0\nx /= 2\nprint x\n", "3 -4 3.5\n3\n"),
    "arrays of whole numbers are divided": (
        "import numpy as np\na = np.array([7, 8])\nprint a / 2\na /= 2\nprint a, np.array([1.0]) / 2\n",
        "[3 4]\n[3 4] [0.5]\n",
    ),
    "sizes of shapes are divided": (
        "import tensorflow as tf\nn = tf.zeros([7]).get_shape()[0]\nprint n / 2, repr(9 / n)\n",
        "3 Dimension(1)\n",
    ),
    "division as the file asks for it": ("from __future__ import division\nprint 7 / 2\n", "3.5\n"),
    "lists, not views": (
        'd = {"a": 1}\nprint d.keys()[0], d.items() + [2], zip([1], [2])[0]\n',
        "a [('a', 1), 2] (1, 2)\n",
    ),
    "methods of dicts": (
        'd = {"a": 1}\nfor k, v in d.iteritems(): print k, v, d.has_key(k), d.itervalues().next()\n',
        "a 1 True 1\n",
    ),
    "ranges": ("r = range(3)\nr[0] = 5\nprint r, list(xrange(2)), sum(xrange(10L))\n", "[5, 1, 2] [0, 1] 45\n"),
    "maps and filters": (
        'print map(int, "12")[1], filter(None, [0, 3]), map(None, [1], [2]), reduce(lambda a, b: a + b, [1, 2])\n',
        "2 [3] [(1, 2)] 3\n",
    ),
    "maps of lists that differ in length": (
        'print map(None, [1, 2], "a"), map(lambda a, b: (b, a), [1], [2, 3])\n',
        "[(1, 'a'), (2, None)] [(2, 1), (3, None)]\n",
    ),
    "classes that compare by __cmp__": (
        "import heapq\n"
        "class Node:\n"
        "    def __init__(self, cost): self.cost = cost\n"
        "    def __cmp__(self, other): return cmp(self.cost, other.cost)\n"
        "nodes = [Node(3), Node(1), Node(2)]\nheapq.heapify(nodes)\n"
        "print heapq.heappop(nodes).cost, max(nodes).cost, Node(1) == Node(1), Node(1) != Node(1), Node(2) >= Node(3)\n"
        "print len({nodes[0]: 1, nodes[1]: 2})\n",
        "1 3 True False False\n2\n",
    ),
    "None is less than everything": (
        "class Best(object):\n"
        "    def __init__(self, most=None):\n        self.loss = None\n        self.most = most\n"
        "    def full(self, n, limit=None): return n > limit, self.loss < -1.5, self.loss >= None, 3 <= self.loss\n"
        "best = None\n"
        "for x in [2, 5, 3]:\n    if x > best: best = x\n"
        "print best, best < 9, None < 'a', Best().full(3)\n",
        "5 True True (True, True, True, False)\n",
    ),
    "raise and except": (
        'try:\n    raise ValueError, "no"\nexcept ValueError, e:\n    print "caught", e\n',
        "caught no\n",
    ),
    "octal, long, backticks, <>": ("print 0755, 10L, `'a'`, 1 <> 2\n", "493 10 'a' True\n"),
    "exec": ('exec "x = 1"\nexec "y = 2" in globals()\nprint x + y\n', "3\n"),
    "parameters that are tuples": (
        "def f(a, (b, c)):\n    return a + b + c\nprint f(1, (2, 3)), (lambda (a, b): a * b)((3, 4))\n",
        "6 12\n",
    ),
    "tabs mixed with spaces": ("if True:\n\tx = 1\n        print x\n", "1\n"),
    "generators end with what they draw from": (
        "def doubled(values):\n    values = iter(values)\n    while True:\n        yield 2 * values.next()\n"
        "print list(doubled([1, 2])), sum(doubled(xrange(3)))\n",
        "[2, 4] 6\n",
    ),
    "iterators and metaclasses": (
        "class Meta(type):\n    mark = 7\n"
        "class Up(object):\n    __metaclass__ = Meta\n    def __init__(self): self.n = 0\n"
        "    def __iter__(self): return self\n    def next(self):\n        self.n += 1\n"
        "        if self.n > 2: raise StopIteration\n        return self.n\nprint list(Up()), Up().next(), Up.mark\n",
        "[1, 2] 1 7\n",
    ),
    "iterators in text that is Python 3 otherwise": (
        "class Up(object):\n    n = 0\n    def __iter__(self): return self\n    def next(self):\n        self.n += 1\n"
        "        if self.n > 2: raise StopIteration\n        return self.n\nprint(list(Up()), 7 / 2)\n",
        "[1, 2] 3.5\n",
    ),
    "sorted by comparison": (
        "x = [3, 1, 2]\nx.sort(lambda a, b: cmp(b, a))\nprint x, sorted(x, cmp)\n",
        "[3, 2, 1] [1, 2, 3]\n",
    ),
    "rounding": ("print round(2.5), round(-0.5), round(2.675, 1)\n", "3.0 -1.0 2.7\n"),
    "decoded": (
        "print unicode('a', 'utf-8'), unicode(u'b', 'utf-8', errors='ignore')\n"
        "print unicode(bytearray(b'c'), 'ascii')\n",
        "a b\nc\n",
    ),
    "text": ("print unicode('a'), isinstance('a', basestring), u'b'.decode('utf-8'), ur'\\d'\n", "a True b \\d\n"),
    "text and bytes": (
        "print 'a' + b'b', b'a' + u'b', 'a' + b'b' + 'c', len(bytearray(b'a') + b'b')\n",
        "ab ab abc 2\n",
    ),
    "files of bytes": (
        "open('a', 'wb').write('a b\\n')\n"
        "words = open('a', 'rb').read().split(' ')\n"
        "print words, open('a', 'rb').read().replace('b', 'c'), open('a', 'rb').readline().startswith('a')\n",
        "['a', 'b\\n'] a c\n True\n",
    ),
    "codecs": ("print 'ab'.encode('hex'), '6162'.decode('hex'), 'ab'.decode('utf-8')\n", "6162 ab ab\n"),
    "modules of its library": (
        "import cPickle, Queue, urlparse\nfrom StringIO import StringIO\nimport ConfigParser as c\n"
        "s = StringIO()\ns.write('a')\n"
        "print cPickle.loads(cPickle.dumps([1]))[0], s.getvalue(), Queue.Queue().empty()\n"
        "print urlparse.urlparse('http://a/b').netloc, c.ConfigParser().sections()\n",
        "1 a True\na []\n",
    ),
    "hashes of text": (
        "import hashlib\nh = hashlib.sha1('a')\nh.update('b')\n"
        "print h.hexdigest()[:8], hashlib.md5(b'ab').hexdigest()[:8], hashlib.new('sha1', 'ab').copy().digest_size\n",
        "da23614e 187ef443 20\n",
    ),
    "text for functions in C": (
        "import ctypes\nfrom ctypes import cdll\nlib = cdll.LoadLibrary(None)\n"
        "print lib.strlen('abc'), ctypes.CDLL(None).atoi('42'), lib.strlen(ctypes.create_string_buffer('abcd'))\n"
        "lib.strchr.argtypes = [ctypes.c_char_p, ctypes.c_int]\nlib.strchr.restype = ctypes.c_char_p\n"
        "print len(lib.strchr('hello', ord('l'))), ctypes.sizeof(ctypes.c_int)\n",
        "3 42 4\n3 4\n",
    ),
    "an encoding that is not declared": ("print 'caf\xe9'\n", "caf\xe9\n"),
}


@pytest.mark.parametrize("text, printed", CASES.values(), ids=CASES)
def test_what_python_2_prints(text: str, printed: str, tmp_path: Path) -> None:
    if "\xe9" in text:
        (tmp_path / "program.py").write_bytes(text.encode("latin-1"))
        found = penstock_run(tmp_path, "program.py", PYTHONIOENCODING="utf-8")
        assert found.stdout == printed, found.stderr
    else:
        assert output_of(tmp_path, text) == printed


def test_text_that_parses_is_python_2_if_it_needs_what_only_python_2_had(tmp_path: Path) -> None:
    text = "from __future__ import print_function\nfor i in xrange(2):\n    print(i, 7 / 2)\n"
    assert output_of(tmp_path, text) == "0 3\n1 3\n"


def test_what_other_modules_bring_does_not_hide_python_2(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("WIDTH = 7\n")
    assert output_of(tmp_path, "from own import *\nprint([i + WIDTH / 2 for i in xrange(2)])\n") == "[3, 4]\n"
    (tmp_path / "own.py").write_text("from functools import reduce\nWIDTH = 7\n")
    assert output_of(tmp_path, "from own import *\nprint(reduce(min, [WIDTH / 2]))\n") == "3.5\n"


@pytest.mark.parametrize(
    "uses",
    [
        "sizes = map(int, '8,4'.split(','))\nprint(len(sizes), sizes[0] / 3)\n",
        "def first():\n    return zip([2, 3], 'ab')[0][0]\nprint(2, first())\n",
    ],
)
def test_text_that_takes_lazy_results_for_lists_is_python_2(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses) == "2 2\n"


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


def test_splitting_where_a_pattern_matches_nothing_is_as_then(tmp_path: Path) -> None:
    assert output_of(tmp_path, "import re\nprint re.split('(\\W+)?', 'a b')\n") == "['a', ' ', 'b']\n"


QUOTIENTS = [
    "from six.moves import range\nfor i in range(0, 4, 5 / 2): n = 7\n",
    "def f():\n    count = 7 / 2\n    return [7 for i in range(1 + count)]\nn = f()[0]\n",
    "def OwnPadding2D(padding): return [0] * padding[0]\n"
    "def f(k):\n    pad = (k - 1) / 2\n    OwnPadding2D(padding=(pad, pad))\nf(5)\nn = 7\n",
    "def ZeroPadding2D(pads): return [0] * pads\nsize = 5\nZeroPadding2D(size / 2)\nn = 7\n",
    "def f(w):\n    half = w / 2\n    return 'ab'[half:]\nf(3)\nn = 7\n",
    "import numpy as np\nn = 7\nnp.eye(4)[:, : n / 2]\n",
    "n = 7\nx = [7, 8, 9]\nx[len(x) / 2 - 1]\n",
    "import collections\nn = 7\ncollections.deque([n], maxlen=1e2)\n",
    "from collections import deque\nn, LENGTH = 7, 0\nSIZE = 100.\ndeque(maxlen=SIZE)\n",
]


@pytest.mark.parametrize("uses", QUOTIENTS)
def test_text_that_counts_by_quotients_is_python_2(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses + "print(n / 2)\n") == "3\n"


@pytest.mark.parametrize("today", ["from __future__ import division", "def range(*n): return 'ab'", "f'{2}'"])
@pytest.mark.parametrize("uses", QUOTIENTS)
def test_text_of_today_that_counts_by_quotients_is_not(today: str, uses: str, tmp_path: Path) -> None:
    text = f"{today}\ntry:\n" + "".join(f"    {line}\n" for line in uses.splitlines())
    assert output_of(tmp_path, text + "except TypeError: pass\nprint(7 / 2)\n") == "3.5\n"


def test_values_by_fractions_are_python_3(tmp_path: Path) -> None:
    text = "x = {1.5: 'a', 2.0: 'b'}\nprint(x[3 / 2], len(x) / 4)\n"
    assert output_of(tmp_path, text) == "a 0.5\n"


def test_fractions_in_slices_of_labels_and_grids_are_python_3(tmp_path: Path) -> None:
    text = "import numpy as np, pandas as pd\nn = 3\nprint(len(pd.Series([1, 2], [0.5, 1.6]).loc[: n / 2]))\n"
    assert output_of(tmp_path, text + "print(np.mgrid[0 : n / 2 : 0.5].tolist(), np.r_[0 : n / 2])\n") == (
        "1\n[0.0, 0.5, 1.0] [0. 1.]\n"
    )


@pytest.mark.parametrize(
    "uses",
    [
        "import pickle\nwith open('f', 'w') as f:\n  pickle.dump(7, f)\nwith open('f') as f:\n  n = pickle.load(f)\n",
        "import pickle\npickle.dump(7, open('f', 'w'))\nn = pickle.load(open('f'))\n",
        "import pickle as pkl\npkl.dump(7, open('f', 'w'))\nn = pkl.load(open('f'))\n",
        "with open('f', 'wb') as f:\n    f.write(b'7 a')\nn = int(open('f', 'rb').read().split(' ')[0])\n",
        "open('f', 'w').write('7')\nwith open('f') as f:\n    n = int(f.read().decode())\n",
        "import tensorflow as tf\nopen('f', 'w').write('7')\nn = int(tf.gfile.Open('f', 'r').read().decode())\n",
    ],
)
def test_text_that_takes_the_bytes_of_files_for_text_is_python_2(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses + "print(n / 2)\n") == "3\n"


@pytest.mark.parametrize(
    "uses",
    [
        "import random\nitems = range(3)\nrandom.shuffle(items)\nn = len(items)\n",
        "import numpy as np\ndef f():\n    order = range(3)\n    np.random.shuffle(order)\n    return order\n"
        "n = len(f())\n",
        "n = len([0] + range(2))\n",
        "items = range(2)\nitems.append(7)\nn = len(items)\n",
        "items = range(3)\nitems[0] = 7\nn = len(items)\n",
    ],
)
def test_text_that_changes_ranges_is_python_2(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses + "print(n / 2)\n") == "1\n"


@pytest.mark.parametrize(
    "uses",
    [
        "import random\npairs = zip([7], [8])\nrandom.shuffle(pairs)\na, b = zip(*pairs)\nn = a[0]\n",
        "import random\nn = random.choice(map(int, '7'))\n",
        "import random\nn = random.sample(filter(None, [0, 7]), 1)[0]\n",
        "items = map(int, '56')\nitems.append(7)\nn = [item for item in items][2]\n",
        "import numpy as np\nitems = map(int, '77')\nnp.random.shuffle(items)\nn = max(items)\n",
    ],
)
def test_text_that_changes_what_map_gives_or_draws_from_it_is_python_2(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses + "print(n / 2)\n") == "3\n"


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


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("import json\njson.dump({'a': 7 / 2}, open('f', 'wb'))\nprint(open('f').read())\n", '{"a": 3}'),
        ("import json\nwith open('f', 'wb') as f:\n    json.dump(7 / 2, f)\nprint(open('f').read())\n", "3"),
        ("import csv\ncsv.writer(open('f', 'wb')).writerow([7 / 2])\nprint(open('f').read(1))\n", "3"),
        ("f = open('f', 'wb')\nf.write('%d' % (7 / 2))\nf.close()\nprint(open('f').read())\n", "3"),
        ("open('f', 'w').write('a b')\nfor x in open('f', 'rb'):\n    print(x.strip().split(' '))\n", "['a', 'b']"),
        ("open('f', 'w').write('é')\nfor each in open('f'):\n    print(len(each.decode('utf-8')))\n", "1"),
        ("import subprocess\nout = subprocess.check_output(['echo', 'a'])\nprint(out.split('\\n')[0])\n", "a"),
        ("print(sorted([3, 1], cmp=lambda a, b: a - b))\n", "[1, 3]"),
        ("import pickle\nf = open('f', 'w')\npickle.dump(3, f)\nf.close()\nprint(pickle.load(open('f')) / 2)\n", "1"),
    ],
)  # fmt: skip
def test_bytes_that_are_taken_for_text_tell_python_2(tmp_path: Path, text: str, printed: str) -> None:
    assert output_of(tmp_path, "# coding: utf-8\n" + text) == printed + "\n"


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
import json
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
    ]


def test_pickles_are_read_from_files_of_gfile_that_were_opened_for_text(tmp_path: Path) -> None:
    text = (
        "import cPickle\nimport tensorflow as tf\n"
        "with tf.gfile.Open('f', 'w') as f:\n    cPickle.dump({'a': 7}, f, 2)\n"
        "with tf.gfile.Open('f', 'r') as f:\n    print cPickle.load(f)['a'] / 2\n"
        "with tf.gfile.Open('f', 'rb') as f:\n    print cPickle.load(f)\n"
    )
    assert output_of(tmp_path, text) == "3\n{'a': 7}\n"


def test_text_that_prints_to_files_is_python_2(tmp_path: Path) -> None:
    """Python 3 takes `print >> file, text` for a tuple that begins with a shift."""
    text = "f = open('f', 'w')\nprint >> f, 'a', 'b',\nprint >>f, 7 / 2\nf.close()\nprint(open('f').read())\n"
    assert output_of(tmp_path, text) == "a b 3\n\n"


@pytest.mark.parametrize(
    "uses",
    [
        "pairs = zip([1], [2])\npairs = list(pairs)\n",
        "def pairs_of(map):\n    pairs = map([1])\n    return pairs[0]\npairs = [pairs_of(list)]\n",
        "pairs = zip([1], [2])\ndef f(pairs):\n    return pairs[0]\npairs = (1,)\n",
    ],
)
def test_a_list_of_the_same_name_is_no_sign_of_python_2(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses + "print(len(pairs), 7 / 2)\n") == "1 3.5\n"


@pytest.mark.parametrize(
    "looks",
    [
        "try:\n    xrange\nexcept NameError:\n    xrange = range\n",
        "import sys\nif sys.version_info[0] < 3:\n    range = xrange\n",
        "try:\n    import cPickle as pickle\nexcept ImportError:\n    import pickle\n",
        "from six.moves import xrange\n",
        "try:\n    text = unicode\nexcept:\n    text = str\n",
        "import six\ntry:\n    n = unichr(7)\nexcept (ValueError, AttributeError, NameError):\n    n = chr(7)\n",
        "import pickle\nfrom pickle import loads\n",
        "import pickle\npickle.dump(1, open('f', 'wb'))\nwith open('f', 'rb') as f:\n    pickle.load(f)\n",
    ],
)
def test_text_of_both_or_that_looks_whether_there_is_python_2_is_not(looks: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(looks + "print(7 / 2)\n")
    found = penstock_run(tmp_path, "program.py")
    assert (found.stdout, found.stderr) == ("3.5\n", "")


@pytest.mark.parametrize(
    "caught",
    ["KeyboardInterrupt:\n    pass", "tf.errors.OutOfRangeError:\n    pass", "(ValueError, KeyError):\n    pass",
     "KeyboardInterrupt:\n    pass\nexcept Exception as e:\n    raise", "Exception:\n    raise"],
)  # fmt: skip
def test_training_that_may_be_interrupted_is_no_look_for_python_2(caught: str, tmp_path: Path) -> None:
    text = f"import tensorflow as tf\ntry:\n    for n in xrange(2):\n        n = 7\nexcept {caught}\nprint(n / 2)\n"
    assert output_of(tmp_path, text) == "3\n"


def test_keys_and_values_are_lists_where_a_text_takes_them_for_such(tmp_path: Path) -> None:
    text = (
        "import random\nd = {'b': 3, 'a': 4}\n"
        "names = d.keys()\nnames.sort()\nprint(names, d.values()[0] / 2, d.keys()[:] + d.keys())\n"
        "def held(of):\n    items = of.items()\n    return items[-1]\nprint(held(d), random.choice({7: 8}.keys()))\n"
        "views = d.keys()\nd['c'] = 5\nprint(len(views), 3 / 2)\n"  # taken for no list
        "class Table:\n    def keys(self):\n        return range(2, 9)\nprint(Table().keys()[1])\n"
    )
    assert output_of(tmp_path, text) == ("['a', 'b'] 1.5 ['b', 'a', 'b', 'a']\n('a', 4) 7\n3 1.5\n3\n")


def test_methods_of_dicts_are_converted_in_python_3_too(tmp_path: Path) -> None:
    assert output_of(tmp_path, "d = {1: 2}\nfor k, v in d.iteritems():\n    print(k, v / 4)\n") == "1 0.5\n"


def test_modules_beside_a_python_2_program_are_python_2(tmp_path: Path) -> None:
    (tmp_path / "halves.py").write_text("def half(n):\n    return n / 2\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("")
    (tmp_path / "models" / "net.py").write_text("import layers\nfrom layers import WIDTH\nsize = layers.WIDTH / 2\n")
    (tmp_path / "models" / "layers.py").write_text("WIDTH = 9\nprint 'layers'\n")
    (tmp_path / "program.py").write_text("import halves\nfrom models import net\nprint halves.half(9), net.size\n")
    found = penstock_run(tmp_path, "program.py")
    assert found.stdout == "layers\n4 4\n", found.stderr
    assert "Python 2 converted in" in found.stderr
    assert not [path for path in tmp_path.rglob("*.pyc") if "layers" in path.name]


def test_a_package_finds_its_own_modules_by_their_short_names(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("")
    (tmp_path / "models" / "net.py").write_text("import layers\n")
    (tmp_path / "models" / "layers.py").write_text("WIDTH = 9\n")
    text = "from models import net, layers\nprint(net.layers.WIDTH, net.layers is layers)\n"
    assert output_of(tmp_path, text) == "9 True\n"


def test_tracebacks_begin_in_the_program_and_have_its_lines(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("def f(a, (b, c)):\n    print a\n\n    return a / c\n")
    (tmp_path / "program.py").write_text("import parts\n\nprint 'begin'\nparts.f(1, (2, 0))\n")
    found = penstock_run(tmp_path, "program.py")
    assert (found.returncode, found.stdout) == (1, "begin\n1\n")
    told = [line.strip() for line in found.stderr.splitlines() if not set(line) <= set(" ^~")]
    assert told[:2] == ["Traceback (most recent call last):", 'File "program.py", line 4, in <module>']
    assert told[2] == "parts.f(1, (2, 0))"
    assert told[3].endswith('parts.py", line 4, in f')
    assert told[4:6] == ["return a / c", "ZeroDivisionError: integer division or modulo by zero"]
    assert told[6:] == ["penstock run: Python 2 converted in 2 files"]


def test_nodes_were_built_in_the_program_whatever_runs_it(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("import tensorflow as tf\ny = tf.constant(1.0)\n")
    text = "import parts\nprint([(line, name) for _, line, name, _ in parts.y.op.traceback])\n"
    assert output_of(tmp_path, text) == "[(1, '<module>'), (2, '<module>')]\n"


def test_what_parses_in_neither_python_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("x = 1\nprint 'a' 'b' c d\n")
    found = penstock_run(tmp_path, "program.py")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("penstock run: program.py:2: ") and found.stderr.count("\n") == 1
    assert "Python 2" in found.stderr


@pytest.mark.parametrize(
    ("end", "status"),
    [("sys.exit(3)", 3), ("sys.exit()", 0), ("sys.exit('no')", 1), ("raise KeyError('x')", 1)],
)
def test_the_exit_status_is_the_programs(end: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"import sys\n{end}\n")
    found = penstock_run(tmp_path, "program.py")
    assert found.returncode == status
    assert "penstock" not in found.stderr


def test_python_3_is_compiled_as_it_is() -> None:
    text = "import numpy as np\nx = {1: 2}.items()\nprint(f'{7 / 2}', len(x))\n"
    found = translate(text, "x.py")
    assert found.code == compile(text, "x.py", "exec", dont_inherit=True) and found.builtins is None


def test_brackets_without_end_and_other_characters_are_no_python_2_and_take_no_memory() -> None:
    tracemalloc.start()
    with pytest.raises(ValueError, match="too many nested parentheses"):
        refactored("print 1\nx = " + "[" * 20_000)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    with pytest.raises(ValueError, match="invalid character '³'"):
        refactored("print 1 ³")
    with pytest.raises(ValueError, match="recursion"):
        refactored("print 1\nx = " + "-" * 20_000 + "1")
    assert refactored("print 1, " + "(" * 60 + ")" * 60) == "print(1, " + "(" * 60 + ")" * 61 + "\n"


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


def test_iterators_have_next_in_text_for_both_pythons(tmp_path: Path) -> None:
    text = """
try:
    import queue
except ImportError:
    import Queue as queue

class Data:
    def next(self):
        return "batch"

numbers = (n / 2 for n in [3, 4])
print(numbers.next(), numbers.next(), Data().next())
try:
    (3).next()
except AttributeError as error:
    print(error)
"""
    assert output_of(tmp_path, text) == "1.5 2.0 batch\n'int' object has no attribute 'next'\n"
