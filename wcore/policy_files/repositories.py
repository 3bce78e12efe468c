"""Looks up on disk whether git would run what a repository's own configuration or hooks name.

`git diff`, `log -p`, `show`, `status` and their kind run filters, drivers of diffs, what checks
signatures, what fetches and asks for passwords where objects are missing, and a hook. There is no
switch that turns them all off, and each git knows more of them. So what is listed here is what is
known to run nothing; whatever else stands in a configuration may name a program.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from wcore.policy_files.reading import read_file

CONFIG_BYTES_MAX: Final = 64 * 1024  # of a repository's configuration; a larger one may name any
DEPTH_MAX: Final = 64  # folders above the one where git is started
HOOKS_MAX: Final = 1024  # files in a folder of hooks; git knows some thirty

#: Sections of which no key, whatever its name, makes a reading git run anything.
_SECTIONS: Final = frozenset(
    "advice author branch color column committer gerrit gitflow gui oh-my-zsh user vscode".split()
)
#: Keys that run nothing; `*` stands for the name between a section and its key. `core.pager` and
#: `core.fsmonitor` are set aside for every child, see `wcore.tools.process.child_environment`.
_KEYS: Final = frozenset(
    """
    apply.whitespace blame.coloring blame.date blame.ignorerevsfile blame.markignoredlines
    checkout.defaultremote checkout.guess checkout.workers clean.requireforce commit.cleanup
    commit.gpgsign commit.status commit.template commit.verbose core.abbrev core.attributesfile
    core.autocrlf core.bare core.bigfilethreshold core.commentchar core.commitgraph
    core.compression core.eol core.excludesfile core.filemode core.fscache core.fsmonitor
    core.hidedotfiles core.ignorecase core.ignorestat core.logallrefupdates core.longpaths
    core.loosecompression core.multipackindex core.pager core.precomposeunicode core.preloadindex
    core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion core.safecrlf
    core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.splitindex
    core.symlinks core.trustctime core.untrackedcache core.warnambiguousrefs core.whitespace
    core.worktree credential.*.username credential.usehttppath credential.username
    diff.*.algorithm diff.*.binary diff.*.cachetextconv diff.*.wordregex diff.*.xfuncname
    diff.algorithm diff.autorefreshindex diff.colormoved diff.colormovedws diff.context
    diff.ignoresubmodules diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix
    diff.noprefix diff.relative diff.renamelimit diff.renames diff.statgraphwidth diff.submodule
    diff.suppressblankempty diff.wserrorhighlight extensions.compatobjectformat
    extensions.noop extensions.objectformat extensions.preciousobjects extensions.refstorage
    extensions.relativeworktrees extensions.worktreeconfig feature.experimental
    feature.manyfiles fetch.fsckobjects fetch.parallel fetch.prune fetch.prunetags
    fetch.recursesubmodules fetch.writecommitgraph filter.*.required gc.auto gc.autodetach
    gc.autopacklimit gc.pruneexpire gc.reflogexpire gc.reflogexpireunreachable
    gc.worktreepruneexpire gpg.format grep.column grep.extendedregexp grep.fullname
    grep.linenumber grep.patterntype help.autocorrect http.*.extraheader http.extraheader
    http.lowspeedlimit http.lowspeedtime http.maxrequests http.postbuffer http.sslverify
    http.version i18n.commitencoding i18n.logoutputencoding index.skiphash index.sparse
    index.threads index.version init.defaultbranch lfs.*.access lfs.*.locksverify
    lfs.concurrenttransfers lfs.fetchexclude lfs.fetchinclude lfs.locksverify
    lfs.repositoryformatversion lfs.url log.abbrevcommit log.date log.decorate log.follow
    log.mailmap mailmap.blob mailmap.file maintenance.auto maintenance.strategy merge.conflictstyle
    merge.ff merge.log merge.renamelimit merge.renames merge.stat notes.displayref
    notes.rewriteref pack.compression pack.depth pack.packsizelimit pack.threads pack.window
    pack.windowmemory protocol.version pull.ff pull.octopus pull.rebase push.autosetupremote
    push.default push.followtags push.recursesubmodules rebase.abbreviatecommands rebase.autosquash
    rebase.autostash rebase.missingcommitscheck rebase.stat rebase.updaterefs receive.autogc
    receive.denycurrentbranch receive.denydeletes receive.denynonfastforwards receive.fsckobjects
    remote.*.fetch remote.*.gh-resolved remote.*.glab-resolved remote.*.mirror remote.*.prune
    remote.*.prunetags remote.*.push remote.*.pushurl remote.*.skipdefaultupdate
    remote.*.skipfetchall remote.*.tagopt remote.*.url remote.pushdefault rerere.autoupdate
    rerere.enabled stash.showincludeuntracked stash.showpatch stash.showstat status.aheadbehind
    status.branch status.renamelimit status.renames status.short status.showstash
    status.showuntrackedfiles submodule.*.active submodule.*.branch submodule.*.ignore
    submodule.*.fetchrecursesubmodules submodule.*.shallow submodule.*.url submodule.active
    submodule.fetchjobs submodule.recurse svn-remote.*.fetch svn-remote.*.url tag.forcesignannotated
    tag.gpgsign tag.sort transfer.fsckobjects url.*.insteadof url.*.pushinsteadof
    worktree.guessremote
    """.split()
)
_LFS: Final = re.compile(r'"?git-lfs (?:clean|smudge|filter-process)(?: --skip)?(?: -- %f)?"?')
_HELPER: Final = re.compile(r"|store|cache|osxkeychain|manager|manager-core|libsecret|wincred")
#: Keys of which only these values run nothing but what is installed.
_VALUES: Final = {
    **dict.fromkeys(("filter.*.clean", "filter.*.smudge", "filter.*.process"), _LFS),
    **dict.fromkeys(("credential.helper", "credential.*.helper"), _HELPER),
    "submodule.*.update": re.compile(r"checkout|rebase|merge|none"),
}
#: Set aside for children of the engine only; and what makes git write elsewhere.
_SET_ASIDE: Final = frozenset(["core.pager", "core.fsmonitor", "core.worktree"])
_HOOKS_PATH: Final = "core.hookspath"
#: What a program in a sandbox may write: names are arguments of commands and parts of paths, and an
#: address of this machine leads to a repository with hooks of its own.
_NAME: Final = r'"(\w(?:[\w-]|\.(?!\.|lock"))*)"'
_REF: Final = r"refs/heads/\w(?:[\w/@+-]|\.(?!\.|/|$))*"
_PLACE: Final = r"(?!(?:[a-z0-9-]+\.)*localhost)(?:[a-z0-9-]+\.)+[a-z]{2,}"
_PATH: Final = r"/?[\w~](?:[\w/~+-]|\.(?![./]))*"
_ADDRESS: Final = rf"(?:(?:https|ssh)://(?:[\w-]+@)?{_PLACE}(?::\d+)?/|[\w-]+@{_PLACE}:){_PATH}"
_REMOTE: Final = re.compile(rf"\[remote {_NAME}\]")
_NEW_REMOTE: Final = re.compile(
    rf"\[remote {_NAME}\]\n(?:url = {_ADDRESS}|fetch = \+refs/heads/\*:refs/remotes/\1/\*)"
)
_FREE: Final = re.compile(
    rf'\[branch "\w[^\s"\\]*"\]\n(?:remote = (?:\.|(\w[\w.-]*))|merge = {_REF}|rebase = true)'
    rf"|\[user\]\n(?:name = [^\W_][\w .\'-]*|email = [\w.+-]+@[\w.-]+)"
    rf'|\[submodule "\w(?:[\w/-]|\.(?!\.))*"\]\n(?:url = {_ADDRESS}|active = true)'
)
#: Hooks that only run where somebody commits, changes branches, sends or receives.
_HOOKS: Final = frozenset(
    "applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit"
    " p4-prepare-changelist post-applypatch post-checkout post-commit post-merge post-receive"
    " post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push"
    " pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout sendemail-validate"
    " update".split()
)
_HOOK: Final = re.compile(r"[^.]{2,}", re.DOTALL)  # no name of one has a dot
_SECTION: Final = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\][ \t]*')
_ENTRY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*[^ \t])?[ \t]*)?")
_UNCLEAR: Final = re.compile(r"\\$|[\x00-\x08\x0b-\x1f\x7f]")  # goes on in the next line, or worse
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_./ -]+")
_LINK: Final = "gitdir: "


def names_programs(folder: str) -> bool:
    """Whether git, started in `folder`, may run what a repository names.

    Every `.git` above counts: git passes by one that is no repository. What cannot be read may
    name some. Blocks.
    """
    for _ in range(DEPTH_MAX):
        place = os.path.join(folder, ".git")
        if os.path.lexists(place) and _names(place):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def names_no_program(config: str) -> bool:
    """Whether a configuration of git names no program, also where nobody set one aside. Blocks."""
    try:
        entries = list(_entries(_text(config)))
    except (OSError, ValueError):
        return False
    return all(_is_harmless(key, value) and key not in _SET_ASIDE for key, value, _ in entries)


def refused_changes(before: bytes, after: bytes) -> list[str]:
    """Return the keys in which a configuration of git may not become another one.

    Remotes may be added, and branches, names of people and where submodules are may change.

    Raises:
        ValueError: one is not written as plainly as git writes it.
    """
    was, now = ([*_entries(text.decode("utf-8-sig"))] for text in (before, after))
    sections = {_section(each) for each in was}
    remotes = _addressed(was) | _addressed(e for e in now if _NEW_REMOTE.fullmatch(e[2]))

    def is_free(entry: tuple[str, str, str]) -> bool:
        if found := _FREE.fullmatch(entry[2]):
            return found[1] is None or found[1] in remotes
        found = _NEW_REMOTE.fullmatch(entry[2])
        return found is not None and found[1] in remotes and _section(entry) not in sections

    fixed = [[each for each in found if not is_free(each)] for found in (was, now)]
    wrong = {key for key, *_ in {*fixed[0]} ^ {*fixed[1]}}
    return sorted(wrong) or ([] if fixed[0] == fixed[1] else ["the order of its keys"])


def _section(entry: tuple[str, str, str]) -> str:
    return entry[2].partition("\n")[0]


def _addressed(entries: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the remotes that have an address: another name is taken for a path."""
    named = [_section(each) for each in entries if each[0] == "remote.*.url"]
    return {name[1] for name in map(_REMOTE.fullmatch, named) if name}


def _names(place: str) -> bool:
    """Whether the repository of a `.git` names a program."""
    try:
        folders = _folders(place)
        hooks = [os.path.join(folder, "hooks") for folder in folders]
        entries = [
            entry
            for folder in folders
            for name in ("config", "config.worktree")
            for entry in _entries(_text(os.path.join(folder, name)))
        ]
        moved = any(key == "core.worktree" for key, *_ in entries)
        for key, value, _ in entries:
            if key == _HOOKS_PATH:
                hooks += _hook_folders(value, [os.path.dirname(place), *folders], moved=moved)
            elif not _is_harmless(key, value):
                return True
        return any(_has_hook(each) for each in hooks)
    except (OSError, ValueError):
        return True


def _is_harmless(key: str, value: str) -> bool:
    known = _VALUES.get(key)
    if known is not None:
        return known.fullmatch(value) is not None
    return key in _KEYS or key.partition(".")[0] in _SECTIONS


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of a configuration, each with its value, and how all of it is written.

    Raises:
        ValueError: it is not written as plainly as git and its friends write it.
    """
    section, written = "", ""
    for line in text.split("\n"):
        rest = line.strip(" \t\r")
        if _UNCLEAR.search(rest):
            raise ValueError("no plain line")
        if found := _SECTION.match(rest):
            name, dot, _ = found[1].lower().partition(".")
            section = f"{name}.*." if dot or found[2] is not None else f"{name}."
            written, rest = found[0].strip(), rest[found.end() :]
        if not rest or rest.startswith(("#", ";")):
            continue
        entry = _ENTRY.fullmatch(rest)
        if entry is None or not section:
            raise ValueError("no entry")
        yield section + entry[1].lower(), entry[2] or "", f"{written}\n{rest}"


def _hook_folders(value: str, bases: list[str], *, moved: bool) -> list[str]:
    """Return where a folder of hooks may be: a relative one is below the work tree.

    Raises:
        ValueError: that cannot be told.
    """
    path = value[1:-1] if value[:1] == value[-1:] == '"' else value
    if not _PLAIN_PATH.fullmatch(path) or (moved and not path.startswith("/")):
        raise ValueError("no plain path")
    return [os.path.join(base, path) for base in bases]


def _has_hook(folder: str) -> bool:
    """Whether a folder of hooks has one that a reading command may run.

    Raises:
        OSError: it cannot be read.
        ValueError: there is too much in it.
    """
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= HOOKS_MAX:
                    raise ValueError("too many files")
                if not _HOOK.fullmatch(entry.name) or entry.name in _HOOKS or entry.is_dir():
                    continue
                if os.access(entry.path, os.X_OK):
                    return True
    except (FileNotFoundError, NotADirectoryError):
        pass
    return False


def _folders(place: str) -> list[str]:
    """Return the folders of a `.git`, a folder or a file that leads to one, and the common one.

    Raises:
        OSError: one cannot be read.
        ValueError: it is no repository.
    """
    folder = place
    if not os.path.isdir(place):
        first = _text(place)
        if not first.startswith(_LINK):
            raise ValueError("no repository")
        folder = os.path.join(os.path.dirname(place), first.removeprefix(_LINK).strip())
    common = _text(os.path.join(folder, "commondir")).strip()
    return [folder, os.path.join(folder, common)] if common else [folder]


def _text(path: str) -> str:
    """Return the text of a file; nothing if there is none.

    Raises:
        OSError: it cannot be read.
        ValueError: it is too long or no file.
    """
    try:
        data, _ = read_file(path, CONFIG_BYTES_MAX)
    except FileNotFoundError:
        return ""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
