"""Which paths a shell text names: its words evaluated as bash would, with what is known. Pure.

The reading is generous where `wcore.policy.shell` is strict: it reads any text as far as it can,
compound commands included, and says where it is lost. What it says is used to ask and to deny,
never to allow. `parser` finds commands, words and redirections; `evaluation` follows variables and
the working folder through them; `resemblance` compares what is only partly known with names.
"""
