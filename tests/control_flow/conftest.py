"""Every test here runs under both executors: the generated function, and the dataflow of tokens.

`@pytest.mark.one_executor("dataflow")` on a test, or in a module's `pytestmark`, asks for one ("structured", "dataflow"
or "auto"); a test with an `executor` parameter of its own chooses for itself and runs under "auto".
"""

from __future__ import annotations

import pytest

EXECUTORS = ("structured", "dataflow")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "one_executor(*names): run under these executors only")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("one_executor")
    chosen = marker.args if marker is not None else EXECUTORS
    if "executor" in metafunc.fixturenames:
        chosen = ("auto",)
    metafunc.parametrize("step_executor", chosen, indirect=True)


@pytest.fixture(autouse=True)
def step_executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The executor that plans made in the test use; read when a plan is made."""
    monkeypatch.setenv("PENSTOCK_EXECUTOR", request.param)
    return request.param
