# A captured miss, explained: a training graph whose size is specialised.
explain_event train_guards 7 | story
