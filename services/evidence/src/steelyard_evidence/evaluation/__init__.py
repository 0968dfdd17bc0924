"""The evaluation data: what is searched, what is asked, and where the evidence of each question stands."""
