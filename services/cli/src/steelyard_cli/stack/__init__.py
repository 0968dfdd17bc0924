"""The services of this host: which there are, how they are started, and where they answer."""
