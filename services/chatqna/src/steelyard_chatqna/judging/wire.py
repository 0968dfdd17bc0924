"""Frames between the gateway and its judging process: a length, and a pickled value."""

import pickle
import struct
from typing import Any

LENGTH = struct.Struct(">Q")


def frame(value: Any) -> bytes:
    """The bytes of `value` with their length before them."""
    payload = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(payload)) + payload
