# A captured miss, explained: three buckets, none of which holds.
explain_event multi_buckets 13 | story
