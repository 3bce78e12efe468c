"""Which paths a shell text names: its words looked up, not evaluated. Pure.

Known are variables of the environment, `~`, a literal `NAME=value` earlier in the text, braces and
a literal `cd`; patterns are held against the disk. All else is a hole. What is said here is used to
ask and to deny, never to allow. `mentions` walks through the commands that `reading` finds,
`expansion` says what a word may be, `named_paths` what that means; `resemblance` compares what is
only partly known with names.
"""
