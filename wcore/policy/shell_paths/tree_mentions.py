"""The folders that a command changes with all that they hold, and the places it puts files into."""

from collections.abc import Callable, Iterable, Sequence

from wcore.policy.shell_paths.ignored_words import is_afar
from wcore.policy.shell_paths.mention import Mention, Source
from wcore.policy.shell_paths.programs import Role
from wcore.policy.shell_paths.trees import changes
from wcore.policy.shell_paths.values import Value, text
from wcore.policy.stops import program


def mentions_of_folders(
    argv: Sequence[tuple[str, Value]], absolute: Callable[[Value], list[Value]]
) -> Iterable[Mention]:
    """Yield them; `argv` are the words, each as it stands and as it is evaluated."""
    head = program(argv[0][1].literal or "")
    found = changes([value.literal for _, value in argv])
    for at in found.trees:
        source, value = argv[at]
        for path in absolute(value):
            yield Mention(path, Role.WRITE, source, tree=True)
    for put in found.puts:
        source, value = argv[put.source]
        given = text(put.target) if put.destination is None else argv[put.destination][1]
        if is_afar(head, given.literal):
            continue
        targets = absolute(given)
        for path in absolute(value):
            what = Source(path, put.deep, put.into, put.onto)
            for target in targets:
                yield Mention(target, Role.WRITE, source, put=what)
