# A captured miss, explained: no candidate of the wanted variant.
explain_event synthetic 38 | story
