"""Calls to the neighbours of a service.

`http` is the client; `call` is one request, over `connections`; `errors` names how it can fail. `guard` decides whether
it may be made: `bulkhead` now, `breaker` at all, `retry_budget` once more. Work after the replies takes `turns`.
"""
