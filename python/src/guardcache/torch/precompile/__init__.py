"""Dynamo's own results in guardcache: a second process neither traces nor lowers.

Under the key of what a frame's code is, and of the settings that matter, lie lists of what must be looked at; with the
contents of all that, a second key; under that, variants with guards on sizes. See `frames`.
"""
