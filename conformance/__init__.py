"""Every registered op beside TensorFlow's own: `python -m conformance.run`."""
