"""What `steelyard doctor` looks at; each look gives findings, and nothing here changes anything."""
