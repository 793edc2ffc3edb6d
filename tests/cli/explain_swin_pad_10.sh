# A captured miss, explained: a large model's padding.
explain_event swin_pad 10 | story
