"""What a host runs against its own parts: strategies, machines and law sets (extra `[testing]`).

`strategies` draws events, logs, messages and requests; `machines` grows logs step by step. Both need
Hypothesis. Nothing in the core imports this room.
"""
