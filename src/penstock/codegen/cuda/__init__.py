"""What clusters and segments become on a GPU."""
