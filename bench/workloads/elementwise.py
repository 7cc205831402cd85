"""200 element-wise ops on a million floats: a tanh and a multiplication by a constant, a hundred times."""

from __future__ import annotations

from bench.workloads.chain import Chain

_CHAIN = Chain(size=1_000_000, pairs=100)
build, torch_eager, jax_jit = _CHAIN.build, _CHAIN.torch_eager, _CHAIN.jax_jit
