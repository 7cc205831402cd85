"""What tells that text which Python 3 parses is Python 2, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.running import output_of, penstock_run


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
        "def first(pairs):\n    def it():\n        return pairs[0][0]\n    return it\n"
        "pairs = zip([2, 3], 'ab')\nprint(2, first(pairs)())\n",
        "def size(items):\n    return len(items)\nprint(size(map(int, '84')), 8 / 3)\n",
    ],
)
def test_text_that_takes_lazy_results_for_lists_is_python_2(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses) == "2 2\n"


QUOTIENTS = [
    "from six.moves import range\nfor i in range(0, 4, 5 / 2): n = 7\n",
    "def f():\n    count = 7 / 2\n    return [7 for i in range(1 + count)]\nn = f()[0]\n",
    "def OwnPadding2D(padding): return [0] * padding[0]\n"
    "def f(k):\n    pad = (k - 1) / 2\n    OwnPadding2D(padding=(pad, pad))\nf(5)\nn = 7\n",
    "def ZeroPadding2D(pads): return [0] * pads\nsize = 5\nZeroPadding2D(size / 2)\nn = 7\n",
    "def f(w):\n    half = w / 2\n    return 'ab'[half:]\nf(3)\nn = 7\n",
    "import numpy as np\nn = 7\nnp.eye(4)[:, : n / 2]\n",
    "from six.moves import xrange\ndef f(c, less):\n    if less:\n        c /= 2\n    return [7 for i in xrange(c)]\n"
    "n = f(4, True)[0]\n",
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


@pytest.mark.parametrize(
    "uses",
    [
        "def f(c):\n    c /= 2\n    c = int(c)\n    return len(range(c))\nprint(f(4), 7 / 2)\n",
        "def f(c):\n    n = len(range(c))\n    c /= 2\n    return n\nprint(f(2), 7 / 2)\n",
    ],
)
def test_what_is_made_whole_again_or_was_counted_before_it_was_divided_is_python_3(uses: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, uses) == "2 3.5\n"


def test_generators_of_python_3_end_where_stop_iteration_passes_through_them(tmp_path: Path) -> None:
    """As until Python 3.7; a context manager keeps that of the block."""
    text = (
        "import contextlib\n"
        "def places(text):\n    'Where it is.'\n    at = -1\n    while True:\n        try:\n"
        "            at = text.index('a', at + 1)\n            yield at\n        except ValueError as error:\n"
        "            raise StopIteration(f'no more: {error}')\n"
        "def drawn(items):\n    items = iter(items)\n    while True:\n        yield next(items), next(items)\n"
        "@contextlib.contextmanager\ndef block():\n    next(iter([1]))\n    yield\n"
        "print(list(places('banana')), places.__doc__, list(drawn('abc')), 7 / 2)\n"
        "try:\n    with block():\n        raise StopIteration\nexcept StopIteration:\n    print('kept')\n"
    )
    assert output_of(tmp_path, text) == "[1, 3, 5] Where it is. [('a', 'b')] 3.5\nkept\n"


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
        "import re\npattern = re.compile(r'(\\d+)')\nm = pattern.match('7')\nn = int(m.group(1).decode('utf-8'))\n",
        "import re\nn = int(re.search('[0-9]', 'a7').group().decode('utf-8'))\n",
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


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("import json\njson.dump({'a': 7 / 2}, open('f', 'wb'))\nprint(open('f').read())\n", '{"a": 3}'),
        ("import json\nwith open('f', 'wb') as f:\n    json.dump(7 / 2, f)\nprint(open('f').read())\n", "3"),
        ("import csv\ncsv.writer(open('f', 'wb')).writerow([7 / 2])\nprint(open('f').read(1))\n", "3"),
        ("f = open('f', 'wb')\nf.write('%d' % (7 / 2))\nf.close()\nprint(open('f').read())\n", "3"),
        ("open('f', 'w').write('a b')\nfor x in open('f', 'rb'):\n    print(x.strip().split(' '))\n", "['a', 'b']"),
        ("open('f', 'w').write('a ')\nfor x in open('f', 'rb'):\n    x = x.split(' ')\n    print(x)\n", "['a', '']"),
        ("open('f', 'w').write('é')\nfor each in open('f'):\n    print(len(each.decode('utf-8')))\n", "1"),
        ("import subprocess\nout = subprocess.check_output(['echo', 'a'])\nprint(out.split('\\n')[0])\n", "a"),
        ("print(sorted([3, 1], cmp=lambda a, b: a - b))\n", "[1, 3]"),
        ("import pickle\nf = open('f', 'w')\npickle.dump(3, f)\nf.close()\nprint(pickle.load(open('f')) / 2)\n", "1"),
    ],
)  # fmt: skip
def test_bytes_that_are_taken_for_text_tell_python_2(tmp_path: Path, text: str, printed: str) -> None:
    assert output_of(tmp_path, "# coding: utf-8\n" + text) == printed + "\n"


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
        "def f(pairs):\n    pairs = list(pairs)\n    return pairs[0]\npairs = [f(zip([1], [2]))]\n",
        "def f(pairs):\n    return pairs[0] if isinstance(pairs, list) else next(pairs)\npairs = [f(zip([1], [2]))]\n",
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
        "open('f', 'wb').close()\nfor x in open('f', 'rb'):\n    x = x.decode().strip()\n    x.split(' ')\n",
        "import re\nm = re.match(b'a', b'a')\nm.group().decode()\nm = re.compile(b'a').match(b'a')\n",
        "import re\ndef f(m):\n    return m.group().decode()\nm = re.match('a', 'a')\nf(re.match(b'a', b'a'))\n",
        "def save(f):\n    f.write('a')\nsave(open('a', 'w'))\nf = open('f', 'wb')\nf.write(b'a')\n",
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
