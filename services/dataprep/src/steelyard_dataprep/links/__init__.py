"""Links: where one may lead, and going there and nowhere else."""
