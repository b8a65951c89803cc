"""Floor 7: one contextual step of an agent, as values: plan, interpret, complete (rules T6, T7).

    plan_step -> (the host asks the model) -> interpret -> (the host runs the tool) -> complete

Needs the extra `jingwei[actions]`, for arguments are held against JSON Schemas.
"""
