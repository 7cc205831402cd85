"""Every registered op compared with TensorFlow's: `python -m conformance.run`."""
