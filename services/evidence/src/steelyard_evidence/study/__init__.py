"""The selection study: how many tokens of context each method needs for how much of the evidence."""
