"""Settings, app factory, problems, logging, health and HTTP client that every Steelyard service is built on."""
