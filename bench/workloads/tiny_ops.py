"""2,000 distinct element-wise ops on 10 floats: what an op costs when it has nothing to do."""

from __future__ import annotations

from bench.workloads.chain import Chain

_CHAIN = Chain(size=10, pairs=1000)
build, torch_eager, jax_jit = _CHAIN.build, _CHAIN.torch_eager, _CHAIN.jax_jit
