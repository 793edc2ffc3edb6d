# A captured miss, explained: another graph of the same model.
explain_event hf_opt 6 | story
