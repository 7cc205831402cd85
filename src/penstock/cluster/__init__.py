"""Tasks in several processes that run steps together (white paper section 3.3, figure 3)."""
