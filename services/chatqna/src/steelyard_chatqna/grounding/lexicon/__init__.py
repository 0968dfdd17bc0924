"""Word lists of the languages that attribution knows, and nothing else: no list here is read by two rules."""
