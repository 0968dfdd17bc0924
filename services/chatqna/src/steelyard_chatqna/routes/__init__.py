"""The gateway's routes, one module per caller's dialect."""
