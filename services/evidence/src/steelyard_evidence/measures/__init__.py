"""What is measured: evidence at each boundary, ranking quality, intervals, latency."""
