"""The survival study: what pair limits cut out of the evaluation data, by position, and where else evidence is lost."""
