"""Payloads, enums, errors and headers that Steelyard's services exchange; no I/O."""
