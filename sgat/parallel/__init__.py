"""Several processes that train one model: each owns a range of the nodes.

`ranks.py` is how processes talk, `part.py` the part of a graph that one of them owns,
`limits.py` what they cannot do.
"""
