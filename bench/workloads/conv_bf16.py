"""The step of conv_net with convolutions of bfloat16, and parameters of float32: where users opt in to it.

Penstock and TensorFlow are asked for it by the same ConfigProto, torch by autocast, JAX by casts.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from bench.workloads import conv_net
from bench.workloads.training import Step, jax_momentum, jax_training, torch_training

TOLERANCE = 1e-3


def build(tf: ModuleType) -> Step:
    loss, train, feeds = conv_net.tf_model(tf)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.auto_mixed_precision_onednn_bfloat16 = 1  # RewriterConfig.ON
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    return lambda: float(session.run([loss, train], feeds)[0])


def torch_eager(torch: ModuleType) -> Step:
    optimizer, float32_loss = conv_net.torch_model(torch)

    def loss_of() -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return float32_loss()

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    loss_of = conv_net.jax_loss(jax, jax.numpy.bfloat16)
    optimizer = jax_momentum(jax, conv_net.LEARNING_RATE, conv_net.MOMENTUM)
    return jax_training(jax, loss_of, conv_net.parameters(), conv_net.data(), optimizer)
