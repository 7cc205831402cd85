"""MoviePy as it was until 2.0: `moviepy.editor`, methods of clips by their names of then, effects as functions.

Facts from MoviePy 1.0.3 and its notes on 2.0. Texts (`TextClip`), which ImageMagick drew, are those of today.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from penstock.programs.removed.giving import ModuleOf, Source, give, give_methods, rename_keywords

_EFFECTS = {
    "accel_decel": "AccelDecel",
    "blackwhite": "BlackAndWhite",
    "blink": "Blink",
    "colorx": "MultiplyColor",
    "crop": "Crop",
    "crossfadein": "CrossFadeIn",
    "crossfadeout": "CrossFadeOut",
    "even_size": "EvenSize",
    "fadein": "FadeIn",
    "fadeout": "FadeOut",
    "freeze": "Freeze",
    "freeze_region": "FreezeRegion",
    "gamma_corr": "GammaCorrection",
    "headblur": "HeadBlur",
    "invert_colors": "InvertColors",
    "loop": "Loop",
    "lum_contrast": "LumContrast",
    "make_loopable": "MakeLoopable",
    "margin": "Margin",
    "mask_and": "MasksAnd",
    "mask_color": "MaskColor",
    "mask_or": "MasksOr",
    "mirror_x": "MirrorX",
    "mirror_y": "MirrorY",
    "painting": "Painting",
    "resize": "Resize",
    "rotate": "Rotate",
    "scroll": "Scroll",
    "speedx": "MultiplySpeed",
    "supersample": "SuperSample",
    "time_mirror": "TimeMirror",
    "time_symmetrize": "TimeSymmetrize",
}
_SOUNDS = {
    "audio_fadein": "AudioFadeIn",
    "audio_fadeout": "AudioFadeOut",
    "audio_loop": "AudioLoop",
    "audio_normalize": "AudioNormalize",
    "volumex": "MultiplyVolume",
}
_OF_CLIPS = (
    "crop crossfadein crossfadeout fadein fadeout invert_colors loop margin mask_and mask_or resize rotate speedx"
)
"""Effects that are methods of clips as well."""
_RENAMED = {
    "cutout": "with_section_cut_out",
    "fl": "transform",
    "fl_image": "image_transform",
    "fl_time": "time_transform",
    "ipython_display": "display_in_notebook",
    "on_color": "with_background_color",
    "set_audio": "with_audio",
    "set_duration": "with_duration",
    "set_end": "with_end",
    "set_fps": "with_fps",
    "set_ismask": "with_is_mask",
    "set_make_frame": "with_updated_frame_function",
    "set_mask": "with_mask",
    "set_memoize": "with_memoize",
    "set_opacity": "with_opacity",
    "set_pos": "with_position",
    "set_position": "with_position",
    "set_start": "with_start",
    "subclip": "subclipped",
}
"""Methods that give another clip."""
_KEYWORDS: dict[str, str | None] = {
    "a": "angle",
    "clip_duration": "duration",
    "ismask": "is_mask",
    "make_frame": "frame_function",
    "mar": "margin_size",
    "newsize": "new_size",
    "t_end": "end_time",
    "t_start": "start_time",
    "withmask": "with_mask",
}
_OF_FILES = "colors dispose fuzz opt program progress_bar remove_bar rewrite_audio tempfiles verbose"
_NO_MORE = dict.fromkeys(_OF_FILES.split())
"""Of what writes files: how ImageMagick made GIFs, and what was printed."""


def _today(options: Mapping[str, Any]) -> dict[str, Any]:
    return {_KEYWORDS.get(name) or name: value for name, value in options.items()}


def _effect(package: str, name: str) -> Callable[..., Any]:
    def effect(clip: Any, *args: Any, **options: Any) -> Any:
        made = getattr(importlib.import_module(package), name)(*args, **_today(options))
        return clip.with_effects([made])

    return effect


_VIDEO: dict[str, Callable[..., Any]] = {old: _effect("moviepy.video.fx", new) for old, new in _EFFECTS.items()}
_AUDIO: dict[str, Callable[..., Any]] = {old: _effect("moviepy.audio.fx", new) for old, new in _SOUNDS.items()}


def _renamed(name: str) -> Callable[..., Any]:
    def method(clip: Any, *args: Any, **options: Any) -> Any:
        return getattr(clip, name)(*args, **_today(options))

    return method


def _fx(clip: Any, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return func(clip, *args, **kwargs)


def mplfig_to_npimage(fig: Any) -> Any:
    """The pixels of a figure of matplotlib: uint8 [height, width, 3]."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def patch(moviepy: Any) -> None:
    videos = {each: _VIDEO[each] for each in _OF_CLIPS.split()}
    for cls in (moviepy.VideoClip, moviepy.AudioClip):
        methods = {old: _renamed(new) for old, new in _RENAMED.items() if hasattr(cls, new)}
        give_methods(cls, {**methods, **_AUDIO, "fx": _fx, **(videos if cls is moviepy.VideoClip else {})}, "clip")
        cls.make_frame = property(lambda clip: clip.frame_function)
        cls.ismask = property(lambda clip: clip.is_mask)
    kinds = "VideoClip ImageClip ColorClip VideoFileClip ImageSequenceClip AudioClip CompositeVideoClip"
    for kind in kinds.split():
        rename_keywords(getattr(moviepy, kind), "__init__", _KEYWORDS, kind)
    for name in ("write_gif", "write_videofile", "write_images_sequence", "save_frame", "iter_frames"):
        rename_keywords(moviepy.VideoClip, name, {**_KEYWORDS, **_NO_MORE})
    for name in ("write_audiofile", "iter_frames", "to_soundarray"):
        rename_keywords(moviepy.AudioClip, name, _NO_MORE)
    give(importlib.import_module("moviepy.video.fx"), _functions(_VIDEO), "vfx")
    give(importlib.import_module("moviepy.audio.fx"), _functions(_AUDIO), "afx")


def _functions(effects: Mapping[str, Callable[..., Any]]) -> dict[str, Source]:
    return {name: partial(effects.__getitem__, name) for name in effects}


_SHOWN = "moviepy.video.io.display_in_notebook:display_in_notebook"
_COMPOSED = "moviepy.video.compositing.CompositeVideoClip"
PATCHES: dict[str, Callable[[Any], None]] = {"moviepy": patch}
MODULES: dict[str, ModuleOf] = {
    "moviepy.editor": ModuleOf(
        "moviepy",
        {
            "ipython_display": _SHOWN,
            "transfx": "moviepy.video.fx:",
            "concatenate": f"{_COMPOSED}:concatenate_videoclips",
            "cvsecs": "moviepy.tools:convert_to_seconds",
        },
    ),
    "moviepy.video.fx.all": ModuleOf(None, _functions(_VIDEO)),
    "moviepy.audio.fx.all": ModuleOf(None, _functions(_AUDIO)),
    "moviepy.video.compositing.concatenate": ModuleOf(_COMPOSED),
    "moviepy.video.compositing.transitions": ModuleOf(None, _functions(_VIDEO)),
    "moviepy.video.io.bindings": ModuleOf(None, {"mplfig_to_npimage": lambda: mplfig_to_npimage}),
    "moviepy.video.io.html_tools": ModuleOf(None, {"ipython_display": _SHOWN}),
}
