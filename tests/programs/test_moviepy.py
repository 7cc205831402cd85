"""What MoviePy had until 2.0 is there for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.running import output_of

PROGRAM = """
import numpy as np, tensorflow as tf
import moviepy.editor as mpy
from moviepy.editor import AudioClip, VideoClip, vfx
from moviepy.video.fx.all import crop
from PIL import Image

images = [np.full((8, 12, 3), 40 * i, np.uint8) for i in range(6)]
clip = mpy.VideoClip(lambda t: images[int(10 * t + 0.5)], duration=0.6)
mask = VideoClip(make_frame=lambda t: np.ones((8, 12)), ismask=True, duration=0.6)
clip.set_mask(mask).set_opacity(0.5).write_gif("a.gif", fps=10, program="imageio", verbose=False, logger=None)
print(Image.open("a.gif").n_frames, Image.open("a.gif").size, mask.ismask, clip.make_frame(0.2)[0, 0])
part = clip.subclip(0.2, 0.4).fl_image(lambda image: 255 - image)
print(part.get_frame(0.1)[0, 0], round(part.duration, 3), part.set_duration(2).duration)
print(clip.resize(2).size, clip.fx(vfx.resize, newsize=(6, 4)).size, clip.fx(vfx.speedx, 2).duration)
print(crop(clip, x1=2, y1=2, width=4, height=3).size, mpy.concatenate([clip, clip]).duration)
sound = AudioClip(make_frame=lambda t: np.sin(2 * np.pi * 440 * t), duration=0.1, fps=8000).volumex(0.5)
print(round(float(sound.to_soundarray(fps=8000).max()), 2), clip.set_audio(sound).audio is sound)
"""


def test_clips_are_made_and_changed_as_until_2(tmp_path: Path):
    pytest.importorskip("moviepy")
    assert output_of(tmp_path, PROGRAM).splitlines() == [
        "6 (12, 8) True [80 80 80]",
        "[135 135 135] 0.2 2",
        "(24, 16) (6, 4) 0.3",
        "(4, 3) 1.2",
        "0.5 True",
    ]


def test_figures_of_matplotlib_are_frames(tmp_path: Path):
    pytest.importorskip("moviepy")
    pytest.importorskip("matplotlib")
    text = (
        "import tensorflow, matplotlib.pyplot as plt\n"
        "from moviepy.video.io.bindings import mplfig_to_npimage\n"
        "frame = mplfig_to_npimage(plt.figure(figsize=(2, 1), dpi=50, facecolor=(1, 0, 0)))\n"
        "print(frame.shape, frame.dtype, frame[0, 0])\n"
    )
    assert output_of(tmp_path, text) == "(50, 100, 3) uint8 [255   0   0]\n"
