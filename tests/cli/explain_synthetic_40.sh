# A captured miss, explained: a variant whose guards are false.
explain_event synthetic 40 | story
