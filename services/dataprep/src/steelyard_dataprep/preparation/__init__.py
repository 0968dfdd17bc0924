"""A file's bytes in, a document ready to be embedded out, each in a process of its own."""
