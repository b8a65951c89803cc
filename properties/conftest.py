"""Profiles: `quick` for every run, `deep` for a long one (`HYPOTHESIS_PROFILE=deep`)."""

import os

from hypothesis import HealthCheck, Phase, settings

# How long an example takes says something about the machine only: neither deadlines nor `too_slow`.
settings.register_profile(
    "quick", max_examples=50, deadline=None, suppress_health_check=(HealthCheck.too_slow,)
)
settings.register_profile(
    "deep", settings.get_profile("quick"), max_examples=500, derandomize=False, print_blob=True
)
# What a planted bug is looked for with: as many examples as `quick`, always the same ones, not made smaller.
settings.register_profile(
    "planted",
    settings.get_profile("quick"),
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
