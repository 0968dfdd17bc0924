"""The gateway: the question-answering pipeline behind OpenAI and OPEA endpoints."""
