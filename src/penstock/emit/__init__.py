"""The language in which ops are written in C: what emitters and expressions beside ops are made of."""
