"""The session that `jingwei demo` shows: `session.jsonl`, written by docs/examples/make_session.py."""
