"""Compiled objects of these tests go to a folder of their own, which begins empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("penstock-cache")))
        yield
