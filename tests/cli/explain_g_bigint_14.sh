# A captured miss, explained: integers beyond 64 bits.
explain_event g_bigint 14 | story
