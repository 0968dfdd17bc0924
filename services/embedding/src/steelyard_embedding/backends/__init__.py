"""Where vectors come from: one port, and one module for each backend."""
