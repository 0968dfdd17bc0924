"""Judging in a process of its own: in a thread, its milliseconds would take the interpreter from the event loop.

`process` is the gateway's side, `worker` the other, `channel` what goes to and fro (docs/adr/0028-judging-process.md).
"""
