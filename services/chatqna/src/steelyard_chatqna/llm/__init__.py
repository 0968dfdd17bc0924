"""The model server: OpenAI's API over HTTP, its stream parsed as what it is."""
