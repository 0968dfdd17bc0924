"""What the commands that ask the gateway share: its client, its streams, and proofs of what it cites."""
