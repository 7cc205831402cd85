"""TensorFlow's public namespaces, as tables of names that are loaded on first access."""
