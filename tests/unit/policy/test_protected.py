"""Which paths are protected: a table of names that are, and of names that only look like it."""

import posixpath

import pytest
from tables import rows

from wcore.policy.protected import (
    Places,
    credential_folders_below,
    is_credential_folder,
    is_own,
    is_within,
    protection,
)
from wcore.vocabulary import Access

PLACES = Places(
    workspace="/home/ann/code",
    home="/home/ann",
    own=("/home/ann/.config/wcore", "/home/ann/.local/state/wcore"),
    on_path=("/home/ann/code/node_modules/.bin",),
)
BOTH = (Access.READ, Access.WRITE)


RUN_BY_OTHERS = (
    *(".config/autostart/x.desktop", ".config/systemd/user/x.service", ".githooks/pre-commit"),
    *(".pre-commit-config.yaml", ".cargo/config.toml", ".yarnrc.yml", ".devcontainer/x.json"),
    *(".github/workflows/ci.yml", ".nvim.lua", ".dir-locals.el", "x.sublime-project", ".mise.toml"),
    *(".gdbinit", ".mvn/extensions.xml", ".hg/hgrc", ".kiro/x", ".amazonq/x", ".gitlab-ci.yml"),
    *("Jenkinsfile", "lefthook.yml", ".lintstagedrc.json", ".emacs.d/init.el", ".tmux.conf"),
    *("sitecustomize.py", "x/evil.pth", ".pythonrc.py", ".config/nvim/init.lua", ".vim/x.vim"),
    *(".dir-locals-2.el", ".helix/config.toml", ".helix/languages.toml", ".svn/hooks/x"),
    *(".jj/repo/config.toml", ".bundle/config", "appveyor.yml", ".appveyor.yml", ".cirrus.yml"),
    *(".semaphore/semaphore.yml", ".builds/x.yml", ".build.yml", ".tekton/x", "bitrise.yml"),
    *("cloudbuild.yaml", ".gitpod.yml", ".replit", ".theia/settings.json", ".vs/x", ".yarnrc.js"),
    *(".trunk/trunk.yaml", ".config/helix/config.toml", ".woodpecker.yml", ".autoenv/x"),
    *(".direnvrc", ".gradle/init.gradle", ".gradle/init.d/x.gradle"),
)
CREDENTIALS = (
    *(".bash_aliases", ".zlogout", ".xprofile", ".pam_environment", ".config/fish/conf.d/x.fish"),
    *(".cargo/credentials.toml", ".m2/settings.xml", ".my.cnf", ".s3cfg", "code/kubeconfig"),
    *("code/x.ppk", "code/terraform.tfstate", "code/terraform.tfstate.backup", ".config/op/x"),
    *(".config/hub", ".config/rclone/rclone.conf", ".config/doctl/config.yaml", ".bash_history"),
    *(".zsh_history", ".mozilla/firefox/x/logins.json", ".local/share/keyrings/x", ".htpasswd"),
    *(".config/google-chrome/Default/Cookies", ".codex/auth.json", ".gradle/gradle.properties"),
    *("/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ed25519_key", "/run/secrets/db"),
    *("/var/run/secrets/kubernetes.io/token", "/run/secrets", "code/x.tfvars", ".dev.vars"),
    *("prod.env", "service-account-key.json", ".vault_pass.txt", ".authinfo.gpg", ".claude.json"),
    *(".cloudflared/cert.pem", ".config/hcloud/cli.toml", ".local/share/kwalletd/x", ".secrets"),
)


def protected(path: str, access: Access) -> bool:
    return protection(path, access, PLACES) is not None


@rows("access", BOTH)
@rows(
    "path",
    [
        "/home/ann/code/.git",
        "/home/ann/code/.git/config",
        "/home/ann/code/.git/hooks/pre-commit",
        "/home/ann/code/vendor/lib/.git/HEAD",
        "/home/ann/code/.env",
        "/home/ann/code/.env.local",
        "/home/ann/code/.envrc",
        "/home/ann/code/deploy/.env.production",
        "/home/ann/.ssh",
        "/home/ann/.ssh/config",
        "/home/ann/.ssh/id_ed25519",
        "/home/ann/code/keys/id_rsa",
        "/home/ann/code/keys/id_rsa.old",
        "/home/ann/.gnupg/secring.gpg",
        "/home/ann/.aws/credentials",
        "/home/ann/.azure/accessTokens.json",
        "/home/ann/.kube/config",
        "/home/ann/.docker/config.json",
        "/home/ann/.password-store/mail.gpg",
        "/home/ann/.config/gcloud/application_default_credentials.json",
        "/home/ann/.config/gh/hosts.yml",
        "/home/ann/.netrc",
        "/home/ann/.npmrc",
        "/home/ann/.pypirc",
        "/home/ann/.pgpass",
        "/home/ann/.git-credentials",
        "/home/ann/code/server.pem",
        "/home/ann/code/tls/keyboard.key",
        "/home/ann/code/cert.p12",
        "/home/ann/code/cert.pfx",
        "/home/ann/code/store.jks",
        "/home/ann/vault.kdbx",
        "/home/ann/code/credentials.json",
        "/home/ann/.bashrc",
        "/home/ann/.bash_profile",
        "/home/ann/.profile",
        "/home/ann/.zshrc",
        "/home/ann/.zshenv",
        "/home/ann/.config/fish/config.fish",
        "/home/ann/.gitconfig",
        "/home/ann/code/.gitmodules",
        "/home/ann/code/.wcore/policy.toml",
        "/home/ann/.config/wcore/policy.toml",
        "/home/ann/.local/state/wcore/sessions.db",
        *(posixpath.join("/home/ann", name) for name in CREDENTIALS),
        *("/etc/shadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d/x", "/etc/ssl/private/x"),
    ],
)
def test_what_holds_keys_or_runs_code_later_is_protected(path: str, access: Access) -> None:
    assert protected(path, access)


@rows(
    "path",
    [
        "/home/ann/code/.vscode/tasks.json",
        "/home/ann/code/.idea/workspace.xml",
        "/home/ann/code/.cursor/mcp.json",
        "/home/ann/code/.claude/settings.json",
        "/home/ann/code/.husky/pre-commit",
        "/home/ann/code/.mcp.json",
        "/home/ann/.vimrc",
        "/home/ann/code/.exrc",
        *(f"/home/ann/{name}" for name in RUN_BY_OTHERS),
        "/home/ann/code/app.code-workspace",
        "/home/ann/code/node_modules/.bin/eslint",
        "/home/ann/code/node_modules/.bin",
    ],
)
def test_what_makes_other_programs_run_code_is_protected_from_writing_only(path: str) -> None:
    assert protected(path, Access.WRITE)
    assert not protected(path, Access.READ)


@rows("access", BOTH)
@rows(
    "path",
    [
        "/home/ann/code",
        "/home/ann/code/main.py",
        "/home/ann/code/.gitignore",
        "/home/ann/code/.gitattributes",
        "/home/ann/code/.github/ISSUE_TEMPLATE/bug.yml",
        "/home/ann/code/.github/workflowsx/ci.yml",
        "/home/ann/code/x/etc/shadow",
        "/etc/shadows",
        "/home/ann/code/src/config.toml",
        "/home/ann/code/cargo/config.toml",
        "/home/ann/code/git/config",
        "/home/ann/code/x.git/config",
        "/home/ann/code/.gitx/config",
        "/home/ann/code/environment.py",
        "/home/ann/code/env",
        "/home/ann/code/my.env",
        "/home/ann/code/x.env.py",
        "/home/ann/code/keyboard.py",
        "/home/ann/code/monkey",
        "/home/ann/code/key",
        "/home/ann/code/server.pem.md",
        "/home/ann/code/ssh/config",
        "/home/ann/code/.sshx/config",
        "/home/ann/code/my_id_rsa.py",
        "/home/ann/code/aws/credentials.py",
        "/home/ann/code/docs/credentials.md",
        "/home/ann/code/bashrc",
        "/home/ann/code/dot.bashrc.md",
        "/home/ann/code/profile",
        "/home/ann/code/.config/other/file",
        "/home/ann/code/wcore/policy.py",
        "/home/ann/code/.wcorex/file",
        "/home/ann/.config/wcore-other/file",
        "/home/ann/code/node_modules/.binary",
        "/home/ann/code/node_modules/eslint/index.js",
        "/home/ann/code/vscode/tasks.json",
        "/home/ann/code/mcp.json",
    ],
)
def test_what_only_looks_like_it_is_not_protected(path: str, access: Access) -> None:
    assert not protected(path, access)


@rows("access", BOTH)
@rows(
    "path",
    [
        "/home/ann/code/.GIT/config",
        "/home/ann/code/.Git/hooks/pre-commit",
        "/home/ann/code/.ENV",
        "/home/ann/code/.Env.Local",
        "/home/ann/.SSH/id_rsa",
        "/home/ann/code/ID_RSA",
        "/home/ann/code/Server.PEM",
        "/home/ann/.BashRC",
        "/home/ann/code/.WCORE/policy.toml",
    ],
)
def test_another_case_of_the_letters_opens_no_way_round(path: str, access: Access) -> None:
    assert protected(path, access)


def test_names_count_as_whole_parts_of_a_path() -> None:
    for folder in (".git", ".ssh", ".wcore", ".aws"):
        assert protected(f"/x/{folder}/y", Access.READ)
        assert not protected(f"/x/a{folder}/y", Access.READ)
        assert not protected(f"/x/{folder}a/y", Access.READ)


def test_a_newline_in_a_name_hides_nothing() -> None:
    assert protected("/home/ann/code/x\n/.env", Access.READ)
    assert protected("/home/ann/code/x\ny.pem", Access.READ)
    assert protected("/home/ann/code/id_rsa\nx", Access.READ)


# --- wcore's own ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/home/ann/code/.wcore", True),
        ("/home/ann/code/.wcore/policy.toml", True),
        ("/home/ann/code/sub/.WCORE/agents/a.toml", True),
        ("/elsewhere/.wcore/x", True),
        ("/home/ann/.config/wcore", True),
        ("/home/ann/.config/wcore/policy.toml", True),
        ("/home/ann/.local/state/wcore/db", True),
        ("/home/ann/.config", False),
        ("/home/ann/.config/wcorex", False),
        ("/home/ann/code/wcore/x.py", False),
        ("/home/ann/code/x.wcore", False),
    ],
)
def test_own_files_are_those_in_dot_wcore_folders_and_in_our_config_and_state(
    path: str, own: bool
) -> None:
    assert is_own(path, PLACES) is own


# --- folders --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "folder", "within"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b/c", "/a/b", True),
        ("/a/b/c", "/a/b/", True),
        ("/a/bc", "/a/b", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
        ("/", "/", True),
        ("/", "/a", False),
    ],
)
def test_within_means_the_folder_itself_or_below_it(path: str, folder: str, within: bool) -> None:
    assert is_within(path, folder) is within


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        ("/home/ann/.ssh", True),
        ("/home/ann/.ssh/keys/old", True),
        ("/home/bob/.aws", True),
        ("/mnt/.SSH", True),
        ("/x/.git/.ssh", True),
        ("/home/ann/.config/gcloud/x", True),
        ("/home/ann/.config", False),
        ("/home/ann/.git", False),
        ("/data", False),
        ("/data/.sshx", False),
    ],
)
def test_credential_folders_and_what_lies_in_them_are_known(path: str, holds: bool) -> None:
    assert is_credential_folder(path) is holds


@pytest.mark.parametrize(
    ("root", "below"),
    [
        ("/home/ann", True),
        ("/home/ann/.config", True),
        ("/home", True),
        ("/", True),
        ("/home/ann/code", False),
        ("/home/ann/.cache", False),
        ("/data", False),
    ],
)
def test_a_root_above_a_credential_folder_is_known(root: str, below: bool) -> None:
    assert credential_folders_below(root, PLACES) is below
