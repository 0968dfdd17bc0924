"""Which settings reach a wanted share of the evidence with the fewest tokens."""
