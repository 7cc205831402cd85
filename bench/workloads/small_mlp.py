"""SGD step of an MLP 64-32-10, batch 32: small enough that overhead decides."""

from __future__ import annotations

from bench.workloads.mlp import Mlp

_MLP = Mlp(batch=32, widths=(64, 32, 10))
build, torch_eager, jax_jit = _MLP.build, _MLP.torch_eager, _MLP.jax_jit
