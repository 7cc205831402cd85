"""Puts the parts together: from the client's graph through the passes to a plan and its steps."""
