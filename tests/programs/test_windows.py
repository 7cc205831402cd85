"""What programs show goes to PNG files where there is no display."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.programs.running import output_of, penstock_run


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.array(image)


def run(folder: Path, text: str) -> tuple[str, str]:
    (folder / "program.py").write_text(text)
    found = penstock_run(folder, "program.py")
    assert found.returncode == 0, found.stderr
    return found.stdout, found.stderr


def test_images_are_written_and_named_and_no_other_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "penstock-figure-1.png").write_text("mine")
    text = "from PIL import Image\nImage.new('RGB', (3, 2)).show()\nImage.new('CMYK', (2, 2)).show()\n"
    printed, told = run(tmp_path, text)
    assert printed == "[penstock-figure-2.png]\n[penstock-figure-3.png]\n"
    assert told == "penstock run: 2 figures written\n"
    assert (tmp_path / "penstock-figure-1.png").read_text() == "mine"
    assert pixels(tmp_path / "penstock-figure-2.png").shape == (2, 3, 3)


def test_figures_are_written_when_they_are_shown(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (
        "import matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\n"
        "plt.plot([1, 2])\nplt.figure()\nplt.hist([1, 2, 3], normed=True)\nplt.hold(True)\nplt.show()\nplt.show()\n"
        "ax = plt.figure(3).gca(projection='3d')\n"
        "assert plt.subplot('212') is plt.gca() and plt.figure(4).add_subplot('122') is plt.gca()\nplt.close()\n"
        "plt.style.use('seaborn-whitegrid')\nplt.cm.get_cmap('jet')\nplt.close()\n"
    )
    printed, told = run(tmp_path, text)
    assert printed == "[penstock-figure-1.png]\n[penstock-figure-2.png]\n"
    assert "plt.hist(normed=) (1 use)" in told and "2 figures written" in told
    assert pixels(tmp_path / "penstock-figure-2.png").std() > 0


def test_figures_that_are_shown_by_themselves_are_written_at_the_end_even_if_they_were_closed(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (
        "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\nplt.show()\n"
        "for i in range(3):\n    axes.plot([i, 2])\n    figure.show()\nprint(len(axes.lines))\n"
    )
    assert run(tmp_path, text)[0] == "[penstock-figure-1.png]\n3\n[penstock-figure-2.png]\n"


def test_scales_take_what_was_named_after_their_axes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (
        "import matplotlib.pyplot as plt\nplt.loglog([1, 4], [1, 8], basex=2)\naxes = plt.gca()\n"
        "axes.set_yscale('log', basey=3, nonposy='mask')\n"
        "x, y = axes.xaxis.get_transform(), axes.yaxis.get_transform()\nprint(x.base, y.base, y._clip)\n"
    )
    printed, told = run(tmp_path, text)
    assert printed == "2 3 False\n"
    assert "Axes.set_yscale(nonposy=) (1 use)" in told


def test_windows_that_are_drawn_again_and_again_show_what_they_showed_last(tmp_path: Path) -> None:
    pytest.importorskip("cv2")
    text = (
        "import cv2\nimport numpy as np\nfor i in range(3):\n    cv2.imshow('w', np.full((2, 2), i / 2.0))\n"
        "    cv2.waitKey(1)\nwhile cv2.waitKey(0) != 27: pass\ncv2.destroyAllWindows()\n"
    )
    printed, _ = run(tmp_path, text)
    assert printed == "[penstock-figure-1.png]\n"
    assert pixels(tmp_path / "penstock-figure-1.png").tolist() == [[255, 255], [255, 255]]


def test_plots_take_lists_in_which_some_are_arrays_of_one_element(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (
        "import numpy as np, matplotlib.pyplot as plt\n"
        "line, = plt.plot([None, np.array([2.0]), 3])\nprint(line.get_ydata(orig=False))\n"
        "print(len(plt.plot([np.array([1.0, 5.0]), np.array([2.0, 6.0])])))\n"
    )
    printed, told = run(tmp_path, text)
    assert printed == "[nan  2.  3.]\n2\n"
    assert "plots of lists with arrays of one element took the elements" in told


def test_ticks_may_have_another_number_of_labels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (
        "import numpy as np, matplotlib.pyplot as plt\n"
        "plt.xticks(np.arange(3), np.array([0.5, 1.5]))\nplt.yticks([0, 1], ['a', 'b', 'c'])\n"
        "axes = plt.gca()\n"
        "print([[t.get_text() for t in side.get_ticklabels()] for side in (axes.xaxis, axes.yaxis)])\n"
    )
    printed, told = run(tmp_path, text)
    assert printed == "[['0.5', '1.5', ''], ['a', 'b']]\n"
    assert "tick labels of another number than the ticks" in told


def test_games_have_a_screen_and_a_loudspeaker_unless_the_environment_names_others(tmp_path: Path) -> None:
    text = "import os, tensorflow as tf\nprint(os.environ['SDL_VIDEODRIVER'], os.environ['SDL_AUDIODRIVER'])\n"
    assert output_of(tmp_path, text, DISPLAY="", WAYLAND_DISPLAY="", SDL_VIDEODRIVER="offscreen") == "offscreen dummy\n"
