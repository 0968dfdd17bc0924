"""onnxruntime, kept from looking for the network.

Since 1.32 it looks up its maker's telemetry host within seconds of being imported, and its `disable_telemetry_events()`
comes too late to stop that; the variable below, set before the import, does. Every other module takes `ort` from here.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort

__all__ = ["ort"]
