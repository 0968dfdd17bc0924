"""Settings as the command sees them: of the environment, of files, and of every service."""
