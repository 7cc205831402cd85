"""What Python and libraries have removed since the time of TF 1.x: a file for each library, of tables."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.programs.removed import (
    cpuinfo,
    gensim,
    gym,
    hdf5,
    horovod,
    horovod_keras,
    imageio,
    keras,
    librosa,
    matplotlib,
    matplotlib_artists,
    moviepy,
    networkx,
    numba,
    numpy,
    opencv,
    pandas,
    pillow,
    pkg_resources,
    ruamel,
    scipy,
    seaborn,
    skimage,
    sklearn,
    sklearn_arguments,
    standard,
    tensorboard,
    tqdm,
)
from penstock.programs.removed.giving import ModuleOf, Source

PATCHES = [
    library.PATCHES
    for library in (
        standard,
        numpy,
        scipy,
        sklearn,
        sklearn_arguments,
        librosa,
        pandas,
        pillow,
        opencv,
        matplotlib,
        matplotlib_artists,
        seaborn,
        hdf5,
        imageio,
        moviepy,
        skimage,
        gym,
        keras,
        gensim,
        networkx,
        numba,
        tensorboard,
        ruamel,
        cpuinfo,
        tqdm,
    )
]
"""By module: what is done to it when it has been imported."""
MODULES: dict[str, ModuleOf] = {
    name: module
    for library in (
        standard,
        numpy,
        scipy,
        sklearn,
        skimage,
        pandas,
        opencv,
        gym,
        librosa,
        pkg_resources,
        horovod,
        horovod_keras,
        moviepy,
    )
    for name, module in library.MODULES.items()
}
"""By name: modules that are no more."""
WHOLE = {"horovod", "pkg_resources"}
"""Packages that stand in without any other package."""
NAMES: dict[str, Mapping[str, Source]] = {
    **{name: names for library in (standard, scipy, sklearn, skimage, opencv) for name, names in library.NAMES.items()},
    "networkx": networkx.NAMES,
    "networkx.convert_matrix": networkx.CONVERSIONS,
    "numpy": numpy.NAMES,
    "numpy.lib": numpy.LIB,
    "pandas": pandas.NAMES,
    "seaborn": seaborn.NAMES,
}
"""By module: names that it had, and where what they name is now, or what makes it."""


def source_of(module: str, name: str) -> Source | None:
    """Where `name` is now, that `module` had; None if it was not removed, or is there in a module that was."""
    found = NAMES.get(module, {}).get(name)
    return MODULES[module].members.get(name, found) if module in MODULES else found
