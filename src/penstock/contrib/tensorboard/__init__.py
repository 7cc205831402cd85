"""tf.contrib.tensorboard: what programs write for TensorBoard's plugins."""

from penstock.contrib.tensorboard import plugins as plugins
