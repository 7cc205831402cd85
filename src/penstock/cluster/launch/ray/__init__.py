"""Tasks as actors of Ray, which may run on several machines. Only this folder knows of Ray."""
