"""Notebooks run cell by cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from penstock.programs.magics import plain
from tests.programs.running import penstock_run


def write(path: Path, *cells: str, tags: dict[int, list[str]] | None = None, **metadata: Any) -> Path:
    """A notebook of these cells; `tags` of those by number, from 1."""
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    for number, names in (tags or {}).items():
        made[number - 1].metadata.tags = names
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=metadata), path)
    return path


def output_of(path: Path) -> str:
    found = penstock_run(path.parent, path.name)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_cells_share_names_and_show_what_they_end_with(tmp_path: Path) -> None:
    book = write(tmp_path / "book.ipynb", "x = 3\nx", "def f():\n    return x + 1", "f();", "display(f())\nNone", "'a'")
    assert output_of(book) == "3\n4\n'a'\n"


def test_a_notebook_trains(tmp_path: Path) -> None:
    book = write(
        tmp_path / "book.ipynb",
        "%matplotlib inline\nimport numpy as np\nimport tensorflow as tf",
        "x = tf.placeholder(tf.float32, [None])\nw = tf.Variable(0.0)\n"
        "loss = tf.reduce_mean(tf.square(w * x - 3 * x))\n"
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)",
        "with tf.Session() as s:\n    s.run(tf.global_variables_initializer())\n"
        "    for _ in range(50): s.run(train, {x: np.ones(4)})\n    print('%.3f' % s.run(w))",
    )
    assert output_of(book) == "3.000\n"


def test_magics_are_skipped_and_told_or_emulated(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "part.py").write_text("import sys\nY = sys.argv[1:]\n")
    write(
        tmp_path / "book.ipynb",
        "%load_ext autoreload\n!pip install \\\n  tensorflow\n%time x = 7\nx",
        "%%time\nfiles = !ls\nprint(files, '''\n%matplotlib\n''', 5\n  % 3)",
        "%run part.py a b\nprint(Y)\nlist?",
        "%%writefile mod.py\nZ = 1",
        "import mod\n%cd sub\nimport os\nprint(os.path.basename(os.getcwd()), mod.Z)\n!mkdir -p made",
        "%%bash\nrm -r /",
        "get_ipython().magic('matplotlib inline')",
    )
    found = penstock_run(tmp_path, "book.ipynb")
    assert found.stdout == "7\n[] \n%matplotlib\n 2\n['a', 'b']\nWriting mod.py\nsub 1\n", found.stderr
    assert found.stderr == "penstock run: skipped %load_ext, !pip, !ls, %%bash, %matplotlib\n"
    assert (tmp_path / "sub" / "made").is_dir()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("x = a % b\ny = (1\n% c)", "x = a % b\ny = (1\n% c)"),
        ("%cd a b", "get_ipython().run_line_magic('cd', 'a b')"),
        ("if x:\n    !ls -l", "if x:\n    get_ipython().system('ls -l')"),
        ("%timeit -n 10 f(x)", "f(x)"),
        ("%%timeit -n 10 f(x)\ng(x)", "f(x)\ng(x)"),
        ("x = %env HOME", "x = get_ipython().run_line_magic('env', 'HOME')"),
        ("?f\nnp.ones??", "pass\npass"),
        ("  x = 1\n  y = 2", "x = 1\ny = 2"),
        ("# why\n%%html\n<p>", "# why\nget_ipython().run_cell_magic('html', '', '<p>')"),
    ],
)
def test_cells_without_magics_keep_their_lines(cell: str, expected: str) -> None:
    assert plain(cell) == expected


def test_tracebacks_name_cell_and_line_and_the_rest_is_not_run(tmp_path: Path) -> None:
    book = write(
        tmp_path / "book.ipynb", "%matplotlib inline\ndef f(n):\n    return 1 / n", "x = 1\n\nf(0)", "print(1)"
    )
    found = penstock_run(tmp_path, book.name)
    assert (found.returncode, found.stdout) == (1, "")
    told = [line.strip() for line in found.stderr.splitlines() if not set(line) <= set(" ^~")]
    assert told == [
        "Traceback (most recent call last):",
        'File "book.ipynb, cell 2", line 3, in <module>',
        "f(0)",
        'File "book.ipynb, cell 1", line 3, in f',
        "return 1 / n",
        "ZeroDivisionError: division by zero",
        "penstock run: skipped %matplotlib",
    ]


def test_bars_of_notebooks_are_text(tmp_path: Path) -> None:
    book = write(
        tmp_path / "book.ipynb",
        "from tqdm import tnrange, tqdm_notebook\nfrom tqdm.notebook import tqdm, trange",
        "print(list(tqdm_notebook([5, 6], display=False)), list(tnrange(1, 3)), list(trange(2)))",
        "with tqdm(total=4, desc='steps') as bar: bar.update(4)",
    )
    found = penstock_run(tmp_path, book.name)
    assert found.stdout == "[5, 6] [1, 2] [0, 1]\n", found.stderr
    assert "steps: 100%" in found.stderr and "a bar of tqdm for notebooks, as text" in found.stderr


def test_cells_whose_author_says_that_they_fail_may_fail(tmp_path: Path) -> None:
    book = write(tmp_path / "book.ipynb", "1 / 0", "print('on')", tags={1: ["raises-exception"]})
    found = penstock_run(tmp_path, book.name)
    assert (found.returncode, found.stdout) == (0, "on\n")
    assert found.stderr == "ZeroDivisionError: division by zero\n"


def test_one_python_2_cell_makes_all_python_2_and_division_may_come_later(tmp_path: Path) -> None:
    book = write(
        tmp_path / "book.ipynb", "print(7 / 2)", "print 'a'", "x = 1\nfrom __future__ import division", "7 / 2"
    )
    found = penstock_run(tmp_path, book.name)
    assert found.stdout == "3\na\n3.5\n", found.stderr
    assert found.stderr == "penstock run: Python 2 converted in 1 file\n"


def test_the_kernel_says_that_a_notebook_is_python_2(tmp_path: Path) -> None:
    kernel = {"name": "python2", "display_name": "Python 2"}
    assert output_of(write(tmp_path / "book.ipynb", "print(7 / 2)", kernelspec=kernel)) == "3\n"


def test_notebooks_of_version_3_of_the_format_run(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "collapsed": False, "input": ["x = 2\n", "x + 1"], "language": "python", "outputs": []}
    sheet = {"cells": [{**cell, "metadata": {}}], "metadata": {}}
    book = {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [sheet]}
    (tmp_path / "book.ipynb").write_text(json.dumps(book))
    assert output_of(tmp_path / "book.ipynb") == "3\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no json", "is no notebook"),
        ("{}", "is no notebook"),
        (
            '{"cells": [], "metadata": {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}, '
            '"nbformat": 4, "nbformat_minor": 2}',
            "in R",
        ),
    ],
)
def test_what_is_no_notebook_is_one_message(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "book.ipynb").write_text(text)
    found = penstock_run(tmp_path, "book.ipynb")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1), found.stderr
    assert told in found.stderr


def test_a_cell_that_parses_in_neither_python_ends_a_notebook_with_one_message(tmp_path: Path) -> None:
    cells = ("print(1)", "x = 1\ny = = 2", "print(3)")
    found = penstock_run(tmp_path, write(tmp_path / "book.ipynb", *cells).name)
    assert (found.returncode, found.stdout) == (2, "1\n")
    assert found.stderr.startswith("penstock run: book.ipynb, cell 2, line 2: ")
