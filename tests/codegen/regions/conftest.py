"""Regions of these tests are compiled fast: what is tested is what they compute."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.codegen.c import compiler, toolchain


@pytest.fixture(scope="module")
def quick_compiler() -> Iterator[None]:
    """A compiler of these tests' own, which optimizes little."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "_FLAGS", tuple("-O1" if flag == "-O2" else flag for flag in toolchain._FLAGS))
        patch.setattr(compiler, "_compiler", compiler.Compiler())
        yield
