# A captured miss, explained: unbacked sizes beside backed ones.
explain_event unb_mix 13 | story
