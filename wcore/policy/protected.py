"""Which paths are protected, and why. A table over names; no disk is read here.

Protected means: a person is asked, whatever was granted (row 5). It covers what holds
credentials, what runs code later without being asked again, and the history of the workspace.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from wcore.vocabulary import Access

OWN_FOLDER: Final = ".wcore"
OWN_FILES: Final = "wcore's own files"

_GIT: Final = "the repository's own records and hooks"
_KEYS: Final = "keys or credentials"
_SHELL: Final = "a file that shells or git run at start"
_EDITOR: Final = "configuration with which another program runs code"

_HISTORY: Final = "what was typed or kept by other programs, secrets included"
_BUILD: Final = "what builds, hooks or other machines run unasked"
_SECRET: Final = frozenset([_KEYS, _HISTORY])


def _by_name(names: Mapping[str, str]) -> Mapping[str, str]:
    """Return the reason of each name; `names` are those of each reason, with blanks between."""
    return {name: reason for reason, each in names.items() for name in each.split()}


#: A name with `/` inside is the end of a path or lies on the way; with `/` first it is absolute.
_FOLDERS_ANY: Final = _by_name(
    {
        _GIT: ".git",
        _KEYS: """
            .ssh .gnupg .aws .azure .kube .docker .password-store .oci .fly .cloudflared .ngrok2
            .snowflake .snowsql .kaggle .aliyun .ibmcloud .config/gcloud .config/gh .config/git
            .config/op .config/hub .config/rclone .config/doctl .config/glab-cli
            .config/containers .config/sops .config/stripe .config/ngrok .config/github-copilot
            .config/linode-cli .config/netlify .config/configstore .config/keybase .config/hcloud
            .config/scw .config/openstack .config/pypoetry .config/syncthing .local/share/kwalletd
            .local/share/keyrings /etc/ssl/private /etc/wireguard /etc/sudoers.d
            /etc/networkmanager/system-connections /run/secrets /var/run/secrets
        """,
        _HISTORY: """
            .mozilla .thunderbird .config/google-chrome .config/chromium .config/bravesoftware
            .config/microsoft-edge
        """,
        _SHELL: ".config/fish .config/environment.d",
    }
)
_NAMES_ANY: Final = _by_name(
    {
        _KEYS: """
            .env* prod.env production.env staging.env secrets.env .dev.vars .secrets .vault_pass*
            id_rsa* id_dsa* id_ecdsa* id_ed25519* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx
            ssh_host_rsa_key ssh_host_dsa_key ssh_host_ecdsa_key ssh_host_ed25519_key *.ppk *.p8
            *.keytab *.tfstate *.kubeconfig *.ovpn .netrc _netrc .npmrc .pypirc .pgpass
            .git-credentials credentials credentials.json .dockercfg .vault-token .my.cnf
            .mylogin.cnf .s3cfg .boto kubeconfig terraform.tfstate* .databrickscfg .htpasswd
            .xauthority logins.json key4.db cookies.sqlite wallet.dat .cargo/credentials.toml
            .cargo/credentials .gem/credentials .m2/settings.xml .m2/settings-security.xml
            .gradle/gradle.properties .composer/auth.json .dbt/profiles.yml
            .terraform.d/credentials.tfrc.json .cache/huggingface/token .claude/.credentials.json
            .codex/auth.json .gemini/oauth_creds.json .local/share/opencode/auth.json /etc/shadow
            /etc/gshadow /etc/sudoers /etc/krb5.keytab /etc/shadow- /etc/gshadow-
            /etc/security/opasswd *.tfvars service-account.json service-account-key.json
            service_account.json .authinfo* .claude.json .smbcredentials
        """,
        _HISTORY: """
            .bash_history .zsh_history .sh_history .histfile .python_history .psql_history
            .mysql_history .sqlite_history .node_repl_history fish_history
        """,
        _SHELL: """
            .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_completion .zlogout
            .pam_environment .profile .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc .tcshrc
            .login .inputrc .xprofile .xinitrc .xsession .xsessionrc config.fish .gitconfig
            .gitmodules
        """,
    }
)
_FOLDERS_WRITE: Final = _by_name(
    {
        _EDITOR: """
            .vscode .idea .zed .fleet .cursor .windsurf .nvim .vim .claude .gemini .codex
            .opencode .continue .roo .husky .kiro .amazonq .augment .cline .kilocode .trae .junie
            .qwen .crush .emacs.d .devcontainer .jupyter .ipython .config/autostart
            .config/systemd .config/nvim .config/emacs .config/tmux .config/i3 .config/sway
            .config/hypr .config/mise .config/direnv .config/zed .config/pip .local/share/systemd
            .local/share/applications .local/share/bash-completion .local/share/nvim .helix .theia
            .vs .config/helix
        """,
        _BUILD: """
            .github/workflows .github/actions .gitea/workflows .forgejo/workflows .circleci
            .buildkite .woodpecker .githooks .lefthook .mvn .hg .yarn/releases .yarn/plugins .mise
            .svn .jj .bundle .semaphore .builds .tekton .trunk .autoenv .gradle/init.d
        """,
    }
)
_NAMES_WRITE: Final = _by_name(
    {
        _EDITOR: """
            .mcp.json .vimrc .exrc .nvimrc .lvimrc .nvim.lua .aider* *.code-workspace
            *.sublime-project .dir-locals.el .emacs .gdbinit .lldbinit .tmux.conf .screenrc
            .devcontainer.json .pythonrc .pythonrc.py .irbrc .pryrc .rprofile .psqlrc .sqliterc
            .curlrc .wgetrc .ripgreprc .mailcap .forward .procmailrc .rhosts .shosts .k5login
            .xbindkeysrc sitecustomize.py usercustomize.py *.pth .opencode.json opencode.json
            .crush.json crush.json .dir-locals-2.el .gitpod.yml .replit .pdbrc .ghci .renviron
        """,
        _BUILD: """
            .pre-commit-config.yaml .pre-commit-config.yml lefthook.y* .lefthook.y*
            .overcommit.yml .lintstagedrc* .huskyrc* .cargo/config.toml rust-toolchain.toml
            rust-toolchain .cargo/config .yarnrc.yml .yarnrc .pnpmfile.cjs bunfig.toml .bazelrc
            .buckconfig .mise.toml mise.toml .mise.local.toml mise.local.toml .gitlab-ci.yml
            .travis.yml .drone.yml jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml .hgrc
            .terraformrc .condarc .gemrc pip.conf .asdfrc .yarnrc.js bitrise.yml appveyor.yml
            .appveyor.yml .cirrus.yml .cirrus.star .build.yml cloudbuild.yaml cloudbuild.yml
            cloudbuild.json .gitpod.dockerfile .envrc .direnvrc .gradle/init.gradle
            .woodpecker.yml .woodpecker.yaml
        """,
    }
)


class Places(Struct, frozen=True):
    """Folders the decision must know; absolute and real. `own` are wcore's config and state."""

    workspace: str
    home: str
    own: tuple[str, ...] = ()
    on_path: tuple[str, ...] = ()  # folders of PATH inside the workspace


def protection(path: str, access: Access, places: Places) -> str | None:
    """Return why `path` (absolute, resolved) is protected, or `None`."""
    folded = path.casefold()  # file systems that ignore case must not open a way round
    reason = _ANY.why(folded)
    if reason is None and is_own(path, places):
        reason = OWN_FILES
    if reason is None and access is Access.WRITE:
        reason = _WRITE.why(folded)
        if reason is None and any(is_within(path, folder) for folder in places.on_path):
            reason = "a folder that commands are looked up in"
    return reason


def is_own(path: str, places: Places) -> bool:
    """Whether `path` lies in a `.wcore/` folder or in wcore's own config or state."""
    folded = path.casefold()
    return f"/{OWN_FOLDER}/" in f"{folded}/" or any(
        is_within(folded, folder.casefold()) for folder in places.own
    )


def is_within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies below it; both absolute and resolved."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_secret(path: str) -> bool:
    """Whether `path` (absolute, resolved) is protected because of what it says."""
    return _ANY.why(path.casefold()) in _SECRET


def runs_unasked(path: str) -> bool:
    """Whether `path` is protected because other programs do what it says, or git keeps it."""
    folded = path.casefold()
    why = _WRITE.why(folded) or _ANY.why(folded)
    is_own = f"/{OWN_FOLDER}/" in f"{folded}/"
    return is_own or (why is not None and why not in _SECRET)


def secret_places(home: str) -> list[str]:
    """Return where secrets are known to lie in a home and in the system; no pattern is among it."""
    both = {**_FOLDERS_ANY, **_NAMES_ANY}
    names = {name for name, why in both.items() if why in _SECRET and "*" not in name}
    names ^= {".config/git", ".config/git/credentials"}  # git fails without the rest of it
    return [name if name.startswith("/") else f"{home}/{name}" for name in sorted(names)]


def is_credential_folder(path: str) -> bool:
    """Whether `path` is a credential folder or lies in one."""
    return _CREDENTIALS.why(path.casefold()) is not None


def credential_folders_below(root: str, places: Places) -> bool:
    """Whether a folder known to hold credentials lies below `root`."""
    folders = (f"{places.home}/{name}" for name, why in _FOLDERS_ANY.items() if why == _KEYS)
    return any(is_within(folder, root) for folder in folders)


def as_rows() -> list[tuple[str, list[str], str]]:
    """Return the tables as the specification prints them: guarded for, names, reason."""
    rows: list[tuple[str, list[str], str]] = []
    for what, folders, names in (
        ("reading and writing", _FOLDERS_ANY, _NAMES_ANY),
        ("writing", _FOLDERS_WRITE, _NAMES_WRITE),
    ):
        for why in dict.fromkeys([*folders.values(), *names.values()]):
            found = [f"{folder}/" for folder, reason in folders.items() if reason == why]
            found += [name for name, reason in names.items() if reason == why]
            rows.append((what, found, why))
    rows.append(("reading and writing", [f"{OWN_FOLDER}/", "wcore's folders"], "wcore's own"))
    rows.append(("writing", ["folders of PATH inside the workspace"], "looked up as a command"))
    return rows


def guarded(access: Access) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the folders and the names that are protected for `access`, each with the reason."""
    if access is Access.READ:
        return _FOLDERS_ANY, _NAMES_ANY
    return {**_FOLDERS_WRITE, **_FOLDERS_ANY}, {**_NAMES_WRITE, **_NAMES_ANY}


class _Table:
    """Folders and name patterns (`x`, `x*` or `*x`), sorted for speed: listings ask a lot."""

    def __init__(self, folders: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._folders = {name: why for name, why in folders.items() if "/" not in name}
        both = {**names, **folders}
        self._roots = {f"{name}/": why for name, why in both.items() if name.startswith("/")}
        longer = {name: why for name, why in both.items() if "/" in name[1:]}
        self._paths = {f"/{name}/": why for name, why in longer.items() if name[0] != "/"}
        self._heads = frozenset(path.split("/")[1] for path in self._paths)
        names = {name: why for name, why in names.items() if "/" not in name}
        self._names = {name: why for name, why in names.items() if "*" not in name}
        self._begins = {name[:-1]: why for name, why in names.items() if name.endswith("*")}
        self._ends = {name[1:]: why for name, why in names.items() if name.startswith("*")}
        self._beginnings, self._endings = tuple(self._begins), tuple(self._ends)

    def why(self, folded: str) -> str | None:
        """Return why a path is in the table; `folded` is case-folded and absolute."""
        parts = folded.split("/")
        if not self._folders.keys().isdisjoint(parts):
            return next(self._folders[part] for part in parts if part in self._folders)
        if folded.startswith(("/etc/", "/run/", "/var/run/")):
            for root, why in self._roots.items():
                if f"{folded}/".startswith(root):
                    return why
        if not self._heads.isdisjoint(parts):
            for path, why in self._paths.items():
                if path in f"{folded}/":
                    return why
        name = parts[-1]
        if name.startswith(self._beginnings):
            return next(why for begin, why in self._begins.items() if name.startswith(begin))
        if name.endswith(self._endings):
            return next(why for end, why in self._ends.items() if name.endswith(end))
        return self._names.get(name)


_ANY: Final = _Table(_FOLDERS_ANY, _NAMES_ANY)
_WRITE: Final = _Table(_FOLDERS_WRITE, _NAMES_WRITE)
_CREDENTIALS: Final = _Table({name: why for name, why in _FOLDERS_ANY.items() if why == _KEYS}, {})
