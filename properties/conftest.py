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
# What mutants are looked for with: few examples, since there are thousands of mutants.
settings.register_profile("mutation", settings.get_profile("planted"), max_examples=25)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
