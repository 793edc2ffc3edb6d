# A captured miss, explained: a batch beyond the bound of the only variant.
explain_event mlp_train 13 | story
