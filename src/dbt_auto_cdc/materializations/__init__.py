"""One file a materialization: specification and state in, plan out.

Not here: SQL of the modes (`scd`) or of engines.
"""
