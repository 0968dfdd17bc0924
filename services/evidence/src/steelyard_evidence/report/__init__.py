"""The report of a run: one HTML file with charts and, under each chart, its numbers."""
