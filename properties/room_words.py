"""Words and defaults of the rooms of choosing, as the pages spell them (S0 to S9, T2, B2, B6, B9)."""

import enum
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from jingwei.compose.gather import FilterReason, GatherStage
from jingwei.compose.observe import ItemChange, WhyStep
from jingwei.compose.pipeline import ComposeOptions
from jingwei.compose.task_state import (
    Correction,
    Goal,
    HardConstraint,
    PlanStepState,
    PlanStepText,
    RecalledMemory,
    TaskState,
)
from jingwei.compose.triggers import InvalidTriggerReason, Observed, Reach, Triggers
from jingwei.condensers.failures import InvalidCondensation, InvalidCondensationReason
from jingwei.condensers.findings import Quote
from jingwei.condensers.records import CondenseLimits, Evidence, Fact
from jingwei.items.budget import TokenBudgetReason
from jingwei.items.failures import InvalidItemReason
from jingwei.items.records import Authority, ContextItem, ItemKind, ItemSource, Resolution, Tier
from jingwei.items.worth import WeightReason, Weights
from jingwei.messages.records import TextConstraint
from jingwei.report.cache import CachePrices, PrefixChange
from jingwei.report.failures import (
    InvalidInput,
    InvalidInputReason,
    Overflow,
    OverflowWhat,
    UnverifiedCount,
    UnverifiedReason,
)
from jingwei.report.records import BuildReport, ExchangeRow, MessageRole, ReductionKind, TurnLedger, TurnRow
from jingwei.request.records import BudgetMode, BuildLimits, TokenBoundEvidence
from jingwei.selection.choose import Quotas
from jingwei.selection.records import PreviewPolicy
from jingwei.selection.search import Search
from jingwei.summaries.failures import (
    NotCountedReason,
    SourcesReason,
    SummaryPlanReason,
    SummaryReason,
    SummarySetReason,
)
from jingwei.summaries.plan import LeftReason, Summariser, SummaryScope
from jingwei.summaries.records import Protected, ProtectedKind, Standalone, Statement, Summary

ROOMS: Final = ("items", "summaries", "condensers", "compose", "report")

WORDS: Final[Mapping[type[enum.Enum], str]] = {
    TokenBudgetReason: "out_of_range zero_window overdrawn",
    InvalidItemReason: "blank_id blank_content blank_subject lone_surrogate not_a_number out_of_range "
    "duplicate_id untrusted_system system_in_envelope",
    ItemKind: "system goal constraint plan fact tool_observation memory conversation summary",
    Tier: "p0 p1 p2 p3",
    ItemSource: "host user tool memory model",
    Authority: "current_instruction task_constraint confirmed_fact preference inference",
    Resolution: "current_instruction_override current_task_override confirmed_fact_override "
    "preference_override later_override id_order",
    WeightReason: "not_a_number infinite negative too_large too_fine all_zero",
    SourcesReason: "log_too_short other_tail other_turns",
    SummaryPlanReason: "blank_model blank_template_revision invalid_budget unverified_output "
    "negative_keep_newest unknown_pin other_session not_active constraint_not_shared turn_not_shown",
    NotCountedReason: "refused other_target blank_method unverified zero overflow",
    SummarySetReason: "repeated_id several_sessions cycle wrong_version",
    SummaryReason: "other_session unsupported_format blank_id lone_surrogate empty empty_range "
    "reversed_range range_not_in_log other_tail split_turn turn_not_closed other_turns repeated_id cycle "
    "already_superseded repeated_superseded unknown_superseded inactive_superseded wrong_version overlap "
    "blank_statement no_source source_outside_range hypothesis_as_fact protected_missing not_smaller",
    LeftReason: "not_closed newest pinned summarised not_shown silent",
    ProtectedKind: "constraint instruction decision",
    InvalidCondensationReason: "blank_method wrong_total not_truncated blank_summary summary_too_long "
    "too_many_facts blank_name empty_value value_too_long invalid_repeats range_outside not_on_boundary "
    "lines_disagree other_source value_not_there reference_missing reference_repeated rendered_too_long",
    FilterReason: "tenant user scope expired no_time limit",
    GatherStage: "system goal step constraints corrections plan events memories host",
    WhyStep: "gathered filtered duplicate_of stands_for lost_to won_over condensed not_condensed "
    "system_text chosen left_out",
    ItemChange: "came went condensed expanded",
    PlanStepState: "pending active done failed skipped",
    Reach: "by_condensing by_leaving_out not_reachable",
    InvalidTriggerReason: "threshold_out_of_range cap_out_of_range stale_out_of_range negative_turns",
    PrefixChange: "target tools system session pins strategy window cut_moved condensed summarized history "
    "items current",
    InvalidInputReason: "zero_limit zero_window zero_output_reserve blank_model blank_template_revision "
    "unsupported_projection_version current_empty current_not_user_first current_has_system blank_turn_id "
    "duplicate_turn open_turn duplicate_pin unknown_pin quarantined_pin unknown_group_turn "
    "group_out_of_order group_without_sources group_shape summary_of_another_session summary_not_active "
    "summary_of_unknown_turn zero_count",
    UnverifiedReason: "output_evidence evidence target blank_method",
    OverflowWhat: "window reserved count total",
    MessageRole: "system user assistant tool",
    ReductionKind: "dropped condensed summarized",
}
"""Every closed list of these rooms, each word named by its member."""

_WEIGHTS: Final = Weights(
    priority=Fraction(1, 1000), relevance=Fraction(1), freshness=Fraction(1), trust=Fraction(1)
)
_PREVIEW: Final = PreviewPolicy(inline_bytes=4096, preview_bytes=512)
_CONDENSE: Final[Mapping[str, int]] = {
    "max_input_bytes": 16_777_216,
    "max_rendered_bytes": 4096,
    "max_summary_bytes": 2048,
    "max_facts": 32,
    "max_value_bytes": 256,
}

DEFAULTS: Final[Mapping[type[object], Mapping[str, object]]] = {
    ContextItem: {
        "tier": Tier.P3,
        "token_cost": 0,
        "priority": 0,
        "relevance": Fraction(0),
        "freshness": Fraction(0),
        "trust": Fraction(0),
        "source_ref": None,
        "source_events": (),
        "compressible": False,
        "required": False,
        "pinned": False,
        "subject": None,
        "authority": Authority.INFERENCE,
        "seq": None,
        "short": None,
        "merged": (),
        "conflicts": (),
    },
    SummaryScope: {"pinned": (), "keep_newest": 4, "again": ()},
    Summariser: {"shape": Standalone()},
    Statement: {"source_events": ()},
    Summary: {
        "facts": (),
        "decisions": (),
        "hypotheses": (),
        "open_questions": (),
        "version": 1,
        "supersedes": (),
        "format_version": 1,
    },
    Protected: {"kind": ProtectedKind.CONSTRAINT},
    InvalidCondensation: {"fact": None, "reference": None},
    Quote: {"repeats": 1},
    Evidence: {"source": None},
    Fact: {"repeats": 1},
    CondenseLimits: _CONDENSE,
    ComposeOptions: {
        "system": (),
        "constraint": TextConstraint(),
        "pinned_turns": (),
        "summaries": (),
        "weights": _WEIGHTS,
        "quotas": Quotas(rows=()),
        "turn_worths": (),
        "previous_selection": None,
        "moves": 0,
        "previous": None,
        "now": None,
        "large_bytes": 4096,
        "condense_limits": CondenseLimits(**_CONDENSE),
        "condensers": None,
        "event_limit": 50,
        "memory_limit": 8,
        "output_evidence": TokenBoundEvidence.ESTIMATE,
        "mode": BudgetMode.SOFT,
        "limits": BuildLimits(
            max_input_bytes=16_777_216,
            max_groups=4096,
            max_turns=4096,
            max_messages=8192,
            max_count_calls=128,
        ),
        "search": Search.AUTO,
        "state_version": None,
        "reduce_current": False,
        "rendering": None,
    },
    Goal: {"source": ItemSource.USER},
    HardConstraint: {"source": ItemSource.USER, "subject": None, "seq": None},
    Correction: {"subject": None, "seq": None},
    PlanStepText: {"state": PlanStepState.PENDING, "source": ItemSource.MODEL},
    TaskState: {
        "run_id": None,
        "scopes": (),
        "goal": None,
        "current_step": None,
        "step_source": ItemSource.MODEL,
        "completion_criteria": (),
        "hard_constraints": (),
        "plan": (),
        "corrections": (),
        "stage": None,
        "system_rules": (),
    },
    RecalledMemory: {
        "scope": None,
        "score": Fraction(0),
        "trust": Fraction(0),
        "created": None,
        "expires": None,
        "subject": None,
        "authority": Authority.PREFERENCE,
        "source_ref": None,
    },
    Triggers: {
        "threshold": Fraction(7, 10),
        "result_cap_bytes": 4096,
        "stale_turns": 10,
        "policy": _PREVIEW,
    },
    Observed: {
        "expected_tokens": None,
        "unused_turns": (),
        "stage_before": None,
        "stage_now": None,
        "quality_fell": False,
    },
    CachePrices: {"read": Fraction(1, 10), "write": Fraction(5, 4)},
    InvalidInput: {"report": None},
    UnverifiedCount: {"report": None},
    Overflow: {"report": None},
    TurnRow: {"policy": None, "summary_id": None, "viewed": False},
    TurnLedger: {"viewed": ()},
    ExchangeRow: {"policy": None},
    BuildReport: {
        "marks": None,
        "exchanges": None,
        "cache": None,
        "items": None,
        "summaries": None,
        "selection": None,
    },
}
"""What a host that says nothing has said."""
