"""The C compiler: found, probed, run in the background, its objects kept on disk and believed only once tried."""
