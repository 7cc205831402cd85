"""DEFINE: everything about an op in one place: signature, shape, kernel, gradient."""
