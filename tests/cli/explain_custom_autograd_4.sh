# A captured miss, explained: a backward graph while only the forward one is stored.
explain_event custom_autograd 4 | story
