# A captured miss, explained: one of many guards about padding to a multiple.
explain_event pad_to_mult 6 | story
