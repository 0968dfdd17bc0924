"""The web pages: ask, see the evidence of an answer, replay its selection, look after documents and services.

Pages are shells without data, and scripts fetch what they show with the reader's key, so that a page can be opened by
anybody and shows nothing to whoever has no key.
"""
