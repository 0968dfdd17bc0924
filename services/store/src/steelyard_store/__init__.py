"""The chunk store port and its embedded implementation."""
