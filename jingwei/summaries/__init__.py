"""Summaries of a session: what may stand for whole turns, and only when it says no less (rule S8)."""
