"""What a program that a tool starts can reach, held by the kernel: bubblewrap and a filter.

`workspace` looks up what its sandbox is made of, with `masks`: what is hidden, what is kept as it
is. `mounts` says that to bubblewrap, `seccomp` is the filter of system calls, `environment` the
variables, `sandbox` starts a program in it all. `quarantine` takes away what may not be left
behind, `escapes` tries to get out. What is a secret, and what decides what other programs run, is
told by whoever makes a `Workspace`: there is one table of that, in `policy/protected.py`.
"""
