"""The backward walk (white paper section 4.1)."""
