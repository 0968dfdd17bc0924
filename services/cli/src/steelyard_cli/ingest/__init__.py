"""Taking documents in: what is found, how it is sent, and what becomes of the job."""
