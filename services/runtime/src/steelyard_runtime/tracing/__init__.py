"""Traces: which request was worked on where, for how long, and what each stage took and gave; off unless asked for."""
