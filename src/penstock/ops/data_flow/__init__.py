"""State that steps wait for: queues and similar resources (white paper section 4.6)."""
