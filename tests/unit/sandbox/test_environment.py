"""Which variables a program in a sandbox has."""

from wcore.sandbox import environment
from wcore.sandbox.mounts import Place

KEPT = (
    "PATH HOME LANG AUTHOR GIT_AUTHOR_NAME KEYBOARD TOKENIZERS_PARALLELISM COLUMNS PWD OLDPWD CI"
    " GIT_CONFIG_KEY_0 XDG_SESSION_TYPE GPG_TTY HISTFILE NODE_OPTIONS PYTHONPATH PASSENGER TERM"
).split()
LEFT_OUT = (
    "TOKEN NPM_TOKEN GITHUB_TOKEN OPENAI_API_KEY AWS_SECRET_ACCESS_KEY PASSWORD PGPASSWORD api_key"
    " MYSQL_PWD DATABASE_URL REDIS_URL SENTRY_DSN NODE_AUTH_TOKEN GITHUB_PAT APIKEY MY_TOKEN_FILE"
    " SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS DISPLAY XAUTHORITY DOCKER_HOST KUBECONFIG TMUX"
    " XDG_RUNTIME_DIR VSCODE_IPC_HOOK GPG_AGENT_INFO CREDENTIALS SESSION_COOKIE"
).split()


def test_secrets_and_ways_out_are_left_out() -> None:
    given = dict.fromkeys([*KEPT, *LEFT_OUT], "x")
    found = environment.within(given, Place("/ws"))
    assert found.keys() - {"TMPDIR", "XDG_CACHE_HOME"} == set(KEPT)


def test_temporary_files_and_caches_go_where_they_can_be_written() -> None:
    home = Place("/ws", private=("/tmp", "/home/me/.cache"))
    found = environment.within({"HOME": "/home/me", "TMPDIR": "/elsewhere"}, home)
    assert found == {"HOME": "/home/me", "TMPDIR": "/tmp"}
    found = environment.within({"HOME": "/home/you"}, home)
    assert found["XDG_CACHE_HOME"] == "/tmp/cache"


def test_values_that_are_secrets_are_left_out_whatever_their_name() -> None:
    given = {
        "A": "https://me:word@example.org/x",
        "B": "ghp_0123456789abcdef",
        "C": "-----BEGIN OPENSSH PRIVATE KEY-----",
        "D": "eyJhbGciOiJI.eyJzdWIiOiIx.x",
        "HTTPS_PROXY": "http://u:p@proxy:8080",
        "GIT_CONFIG_VALUE_3": "AUTHORIZATION: Basic abcdefgh1234",
        "E": "https://example.org:8080/@x",
        "F": "sk-",
        "GIT_CONFIG_VALUE_4": "false",
    }
    found = environment.within(given, Place("/ws"))
    assert {name: found[name] for name in found.keys() & given.keys()} == {
        "GIT_CONFIG_VALUE_3": "",
        "E": "https://example.org:8080/@x",
        "F": "sk-",
        "GIT_CONFIG_VALUE_4": "false",
    }
