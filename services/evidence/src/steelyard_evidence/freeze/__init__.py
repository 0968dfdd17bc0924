"""Freezing: an annotated data set and one retrieval of it become a manifest."""
