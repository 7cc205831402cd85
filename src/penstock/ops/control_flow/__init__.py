"""Control flow in the graph (white paper section 4.4): conditionals, loops, and functions built on them."""
