"""SGD step of an MLP 784-1024-1024-10, batch 128: matrix products decide."""

from __future__ import annotations

from bench.workloads.mlp import Mlp

_MLP = Mlp(batch=128, widths=(784, 1024, 1024, 10))
build, torch_eager, jax_jit = _MLP.build, _MLP.torch_eager, _MLP.jax_jit
