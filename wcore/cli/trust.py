"""`wcore trust DIR`: let a project's own rules count as far as the user's do."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Final

from wcore.cli import environment
from wcore.cli.consent import NotAgreedError, add_yes, refuse_inside_call, require
from wcore.cli.subcommand import Parser, write, write_json
from wcore.errors import ConfigError
from wcore.policy.protected import OWN_FOLDER
from wcore.policy_files.policy_files import PolicyFiles
from wcore.policy_files.reading import ProjectFiles
from wcore.visible import visible

DESCRIPTION: Final = """\
Trust a folder: from then on the rules in its .wcore/ may allow, not only forbid. The files are
shown, and trusted as shown; any change to them ends the trust. An administrator's rules always
come first. Without trust nothing in a folder can make wcore run anything. An engine that runs
takes the trust up at its next start, or when its host accepts it. Inside a tool call this is
refused."""
EPILOG: Final = """\
examples:
  wcore trust .                                  show the files, and ask
  wcore trust . --list                           show the files and their digest
  wcore trust . --yes --digest sha256:4f1c…      trust what was listed, without a terminal
  wcore trust . --revoke                         trust it no longer
"""


def run(argv: list[str], environ: Mapping[str, str]) -> int:
    """Trust a folder, or no longer; return the exit code.

    Raises:
        UsageError: the command line is wrong.
        ConfigError: a project file is not what it should be.
        NotAgreedError: nobody who may has agreed.
        TrustError: the record cannot be read or written.
    """
    options = _read(argv)
    files = PolicyFiles.of(environment.places(environment.folder(options.folder), environ))
    folder = files.places.workspace
    if options.revoke:
        was = files.trust.revoke(folder)
        _tell(
            options.json, {"folder": folder, "trusted": False}, "is no longer" if was else "was not"
        )
        return 0
    project = files.project()
    if options.list:
        trusted = project.digest is not None and files.trust.digest_of(folder) == project.digest
        _show(project, {"folder": folder, "trusted": trusted, **_listed(project)}, options.json)
        return 0
    refuse_inside_call()
    files.trust.require_outside(folder)
    if project.digest is None:
        raise ConfigError(f"{folder}/{OWN_FOLDER} holds more than can be reviewed, or links")
    told = {"folder": folder, "trusted": True, **_listed(project)}
    _agree(options, project, folder)
    files.trust.trust(folder, project.digest)
    _tell(options.json, told, "is")
    return 0


def _read(argv: list[str]) -> Namespace:
    parser = Parser("wcore trust", DESCRIPTION, EPILOG)
    parser.add_argument("folder", metavar="DIR")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="show the files and their digest only")
    what.add_argument("--revoke", action="store_true", help="trust it no longer")
    parser.add_argument("--digest", metavar="DIGEST", help="only if the files still have this one")
    add_yes(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on one line")
    return parser.parse_args(argv)


def _agree(options: Namespace, project: ProjectFiles, folder: str) -> None:
    """Let a person agree to the files as they are.

    Without a terminal nobody has just seen them, so then the digest says which were meant.
    """
    if options.digest is not None and options.digest != project.digest:
        raise NotAgreedError("the files are not those of that digest any more; nothing changed")
    instead = f"look at them with `wcore trust {folder} --list`, then add --yes --digest DIGEST"
    is_seen = sys.stdin.isatty() and not options.json
    if not is_seen and (not options.yes or options.digest is None):
        raise NotAgreedError(f"nobody is at a terminal to agree: {instead}")
    if not options.json:
        write(_shown(project))
    require(f"\ntrust {folder} as shown?", yes=options.yes, as_json=options.json)


def _show(project: ProjectFiles, told: dict[str, object], as_json: bool) -> None:  # noqa: FBT001
    if as_json:
        write_json(told)
        return
    write(_shown(project))
    state = "trusted" if told["trusted"] else "not trusted"
    write(f"\n{told['folder']} is {state}; digest {project.digest or 'none: it cannot be'}\n")


def _listed(project: ProjectFiles) -> dict[str, object]:
    listed = [{"path": path, "digest": digest} for path, digest in project.digests()]
    return {"files": listed, "digest": project.digest}


def _shown(project: ProjectFiles) -> str:
    if not project.contents:
        return f"there are no files in {OWN_FOLDER}/\n"
    parts: list[str] = []
    for path, digest in project.digests():
        text = visible(project.contents[path].decode(errors="replace"))
        lines = "".join(f"  {line}\n" for line in text.splitlines())
        parts.append(f"{OWN_FOLDER}/{visible(path)}  {digest}\n{lines}")
    return "\n".join(parts)


def _tell(as_json: bool, told: dict[str, object], what: str) -> None:  # noqa: FBT001
    if as_json:
        write_json(told)
    else:
        write(f"{told['folder']} {what} trusted\n")
