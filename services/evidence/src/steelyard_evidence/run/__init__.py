"""Running a frozen manifest: three routes at one context budget, sweeps with separate axes, resumable."""
