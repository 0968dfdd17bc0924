"""Runs the services as child processes: starts, watches, restarts and stops them, and records what it did."""
