"""The evidence laboratory: where evidence is lost, which change is better, and what may be released."""
