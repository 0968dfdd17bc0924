"""The policy hash: one short name for all the settings that decide which evidence is kept."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

_DIGITS = 16


def policy_hash(policy: Mapping[str, Any]) -> str:
    """Hash a policy (strategy, thresholds, caps, truncation, model ids and revisions) to 16 hexadecimal digits.

    Equal mappings give equal hashes whatever their order. Raises TypeError for a value that JSON can not hold.
    """
    canonical = orjson.dumps(dict(policy), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()[:_DIGITS]
