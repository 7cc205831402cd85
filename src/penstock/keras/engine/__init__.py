"""What models and layers are made of: layers, their graphs, training, files."""
