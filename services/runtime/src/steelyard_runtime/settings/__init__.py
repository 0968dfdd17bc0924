"""Settings: declared once in a typed class, read from the environment, refused by name when they are wrong."""
