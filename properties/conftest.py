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
_chosen = os.environ.get("HYPOTHESIS_PROFILE", "quick")
settings.load_profile(_chosen)
# What state machines are run with: one example is one session, and what a session meets late needs many
# of them. In the deep run 20,000 sessions of a machine take about 20 minutes of one core.
settings.register_profile("machines", settings.get_profile(_chosen), stateful_step_count=30)
if _chosen == "deep":
    settings.register_profile(
        "machines", settings.get_profile(_chosen), stateful_step_count=40, max_examples=20_000
    )
