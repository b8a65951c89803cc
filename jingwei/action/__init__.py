"""Floor 7: one contextual step of an agent, as values: plan, interpret, complete (rules T6, T7).

    plan_step -> (the host asks the model) -> interpret -> (the host runs the tool) -> complete

`step` plans and interprets, `complete` completes, `drive` does all of it around a host's functions. They need
the extra `jingwei[actions]`, for arguments are held against JSON Schemas; `failures` and `records` do not, so
that what went wrong can be told without it, and nothing is exported from here.
"""
