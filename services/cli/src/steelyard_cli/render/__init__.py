"""Turns results into what people read; machine output never passes through here."""
