"""DEFINE: one op, one place: signature, shape, kernel, gradient."""
