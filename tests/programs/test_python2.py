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
    "what ends within a context": (
        "from contextlib import contextmanager\n@contextmanager\ndef context():\n    yield\n"
        "try:\n    with context():\n        iter([]).next()\n    print 'hidden'\n"
        "except StopIteration:\n    print 'told'\n",
        "told\n",
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


def test_splitting_where_a_pattern_matches_nothing_is_as_then(tmp_path: Path) -> None:
    assert output_of(tmp_path, "import re\nprint re.split('(\\W+)?', 'a b')\n") == "['a', ' ', 'b']\n"


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
