"""What a session does with a cluster: it plans steps over all devices, ships each task its parts, and runs them."""
