"""Word lists of the languages that attribution knows: data, apart from two small functions that read it."""
