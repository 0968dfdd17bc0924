"""The ingestion service: parse, chunk, embed, publish."""
