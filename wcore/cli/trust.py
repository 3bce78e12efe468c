"""`wcore trust DIR`: let a project's own rules count as far as the user's do."""

import os
import sys
from collections.abc import Mapping
from typing import Final

from wcore.cli import environment
from wcore.cli.subcommand import Parser, write, write_json
from wcore.errors import ConfigError, UsageError
from wcore.policies import PolicyFiles
from wcore.policies.reading import ProjectFiles
from wcore.policy.protected import OWN_FOLDER
from wcore.visible import visible

DESCRIPTION: Final = """\
Trust a folder: from then on the rules in its .wcore/ may allow, not only forbid. The files are
shown, and trusted as shown; any change to them ends the trust. An administrator's rules always
come first. Without trust nothing in a folder can make wcore run anything."""


def run(argv: list[str], environ: Mapping[str, str]) -> int:
    """Trust a folder, or no longer; return the exit code.

    Raises:
        UsageError: the command line is wrong.
        ConfigError: a project file is not what it should be.
        TrustError: the record cannot be read or written.
    """
    parser = Parser("wcore trust", DESCRIPTION)
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--revoke", action="store_true", help="trust it no longer")
    parser.add_argument("--json", action="store_true", help="one JSON object on one line")
    given = parser.parse_args(argv)
    if not os.path.isdir(given.folder):
        raise UsageError(f"{given.folder}: there is no such folder")
    files = PolicyFiles.of(environment.places(given.folder, environ))
    folder = files.places.workspace
    if given.revoke:
        was = files.trust.revoke(folder)
        _tell(
            given.json, {"folder": folder, "trusted": False}, "is no longer" if was else "was not"
        )
        return 0
    project = files.project()
    if project.digest is None:
        raise ConfigError(f"{folder}/{OWN_FOLDER} holds more than can be reviewed, or links")
    told = {"folder": folder, "trusted": True, **_listed(project)}
    if not given.json:
        write(_shown(project))
        if sys.stdin.isatty() and not _confirmed(folder):
            return 1
    files.trust.trust(folder, project.digest)
    _tell(given.json, told, "is")
    return 0


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


def _confirmed(folder: str) -> bool:
    write(f"\ntrust {folder} as shown? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _tell(as_json: bool, told: dict[str, object], what: str) -> None:  # noqa: FBT001
    if as_json:
        write_json(told)
    else:
        write(f"{told['folder']} {what} trusted\n")
