"""The frameworks compared: how each is imported, and which program of a workload it runs.

To add a column, add a row to `FRAMEWORKS`. A row that names a new program (say `torch_compile`) shows "-" for
every workload that does not define that function yet.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Framework:
    name: str  # the column's title, and the worker's first argument
    module: str  # what is imported and handed to the program
    program: str  # the workload's function that is called with it


FRAMEWORKS = {
    framework.name: framework
    for framework in (
        Framework("penstock", "penstock", "build"),
        Framework("tensorflow", "tensorflow.compat.v1", "build"),
        Framework("torch", "torch", "torch_eager"),
        Framework("jax", "jax", "jax_jit"),
    )
}


def import_framework(framework: Framework) -> ModuleType:
    """The framework's module, ready to be given to a program."""
    module = importlib.import_module(framework.module)
    if framework.name == "tensorflow":
        module.disable_v2_behavior()  # graphs and sessions, as in TF 1.x
        if hasattr(module, "disable_control_flow_v2"):
            module.disable_control_flow_v2()  # loops of Switch, Merge and the like, which Penstock has too
    return module
