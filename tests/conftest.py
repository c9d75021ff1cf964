"""Settings and fixtures that every test shares."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Derandomised: CI must not fail on Tuesdays only. No deadline: a first call compiles.
settings.register_profile(
    "sssp", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sssp")
