"""RUN: feeds and fetches to a cached plan."""
