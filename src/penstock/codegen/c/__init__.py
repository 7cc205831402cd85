"""The C compiler: finding, probing and running it in the background, and caching and validating its objects."""
