"""The environment of programs in a sandbox: nothing that is a secret or leads out of it. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from wcore.sandbox.mounts import TMP, Place
from wcore.sandbox.proxy import PORT

#: In doubt a variable is a secret: `AUTHOR` is none, `AUTH` and `NPM_AUTH` are.
_SECRET: Final = re.compile(
    r"(?:^|_)(?:[A-Z]*TOKENS?|SECRETS?|[A-Z]*PASS(?:WORD|WD|PHRASE)?|PWD|AUTH|CREDENTIALS?|CREDS"
    r"|COOKIES?|[A-Z]*KEYS?|DSN|PAT|JWT|BEARER|SESSION)(?:_|$)|(?:DATABASE|DB|REDIS|MONGO\w*|AMQP"
    r"|POSTGRES\w*|MYSQL\w*|BROKER)_UR[IL]$",
    re.IGNORECASE,
)
#: They look like secrets and are none: folders, and what a shell says of itself.
_HARMLESS: Final = re.compile(r"PWD|OLDPWD|GIT_CONFIG_KEY_[0-9]+|SSH_ASKPASS|XDG_SESSION_\w+")
#: They lead to programs of the session that would do for a command what it may not.
_LEADS_OUT: Final = re.compile(
    r".*_SOCK(?:ET)?|GPG_AGENT_INFO|DBUS_\w+|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DOCKER_HOST"
    r"|CONTAINER_HOST|KUBECONFIG|TMUX|STY|VSCODE_\w+|XDG_RUNTIME_DIR|NOTIFY_SOCKET|LISTEN_\w+"
)
#: Whatever the name: an address with a password, a key as well-known services give them out.
_SECRET_VALUE: Final = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|\b(?:gh[pousr]_|github_pat_|glpat-|sk-|xox[abprs]-|AKIA|AIza)\w{8}"
    r"|\beyJ[\w-]{8,}\.eyJ|-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:Basic|Bearer) [\w+/=.-]{8}"
    r"|AccountKey=|SharedAccessSignature=",
)
#: Where programs look for a proxy. What runs in the sandbox itself is reached without one.
_PROXIES: Final = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_PROXIED: Final = {
    **dict.fromkeys(_PROXIES, f"http://127.0.0.1:{PORT}"),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
    "NODE_USE_ENV_PROXY": "1",
    "npm_config_fetch_retries": "1",  # more takes minutes, where a host is refused
}


def within(environ: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return the variables for a program; temporary files and caches go where it may write."""
    kept = {name: value for name, value in environ.items() if not _is_left_out(name)}
    for name in [name for name, value in kept.items() if _SECRET_VALUE.search(value)]:
        if name.startswith("GIT_CONFIG_VALUE_"):
            kept[name] = ""  # git counts them
        else:
            del kept[name]
    caches = {name: kept.get(name) or usual for name, usual in place.usual.items()}
    moved = {n: f"{TMP}/{n.lower()}" for n, path in caches.items() if path not in place.private}
    return {**kept, **moved, **_PROXIED, "TMPDIR": TMP}


def _is_left_out(name: str) -> bool:
    if _HARMLESS.fullmatch(name):
        return False
    return _SECRET.search(name) is not None or _LEADS_OUT.fullmatch(name) is not None
