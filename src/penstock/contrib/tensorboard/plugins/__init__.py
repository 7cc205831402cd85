"""TensorBoard's plugins that programs write for: the projector."""

from penstock.contrib.tensorboard.plugins import projector as projector
