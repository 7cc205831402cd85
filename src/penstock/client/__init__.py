"""What client programs use on top of ops: variables, scopes, initialisers."""
