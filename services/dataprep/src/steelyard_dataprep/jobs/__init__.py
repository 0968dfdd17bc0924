"""Ingestion jobs: files wait in one line, and what became of each can be asked for, also after a restart."""
