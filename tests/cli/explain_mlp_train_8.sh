# A captured miss, explained: a graph that bypassed when it should have been stored.
explain_event mlp_train 8 | story
