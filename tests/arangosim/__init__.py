"""A local ArangoDB protocol server for tests. It is no database: see README.md."""

from tests.arangosim.clock import ManualClock, RealClock
from tests.arangosim.errors import ArangoError
from tests.arangosim.faults import Body, CutBody, Drip, Faults, Hold, Reset, Rewrite, Status, TruncatedJson
from tests.arangosim.server import ArangoSim

__all__ = [
    "ArangoError",
    "ArangoSim",
    "Body",
    "CutBody",
    "Drip",
    "Faults",
    "Hold",
    "ManualClock",
    "RealClock",
    "Reset",
    "Rewrite",
    "Status",
    "TruncatedJson",
]
