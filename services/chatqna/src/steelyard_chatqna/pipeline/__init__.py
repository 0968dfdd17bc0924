"""The question-answering pipeline: one function, and for each stage what goes in and what is taken out."""
