"""API keys: who may ask the gateway, for which scopes, and how often (docs/adr/0010-api-keys.md)."""
