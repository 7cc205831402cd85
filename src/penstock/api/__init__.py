"""TensorFlow's public namespaces, as tables of names that are loaded when they are asked for."""
