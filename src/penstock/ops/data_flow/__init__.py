"""What feeds a graph: queues, and other state that steps wait for (white paper section 4.6)."""
