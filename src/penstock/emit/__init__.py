"""The language in which ops are written in C: the building blocks of ops' emitters and expressions."""
