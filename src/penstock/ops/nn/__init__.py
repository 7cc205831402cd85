"""Neural network ops: activations, softmax and losses, convolutions, pools, normalization, embeddings.

The public names are in `penstock.nn` (TF: tf.nn).
"""
