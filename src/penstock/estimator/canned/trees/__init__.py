"""What gradient boosted trees are made of: features in buckets, a grower of layers, the model, and explanations."""
