"""Payloads, enums, errors and headers that Steelyard's services exchange; no I/O.

Import from the module that owns the noun; README.md lists them.
"""
