"""Which variables a program in a sandbox has."""

from wcore.sandbox import environment
from wcore.sandbox.mounts import Place
from wcore.sandbox.proxy import PORT

PROXIES = {
    *("http_proxy", "https_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY"),
    "npm_config_fetch_retries",
}

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
    assert found.keys() - {"TMPDIR", *PROXIES} == set(KEPT)


def test_temporary_files_and_caches_go_where_they_can_be_written() -> None:
    usual = {"XDG_CACHE_HOME": "/home/me/.cache", "GOMODCACHE": "/home/me/go/pkg/mod"}
    home = Place("/ws", private=dict.fromkeys(["/tmp", "/home/me/.cache"]), usual=usual)
    found = environment.within({"HOME": "/home/me", "TMPDIR": "/elsewhere"}, home)
    assert {name: found[name] for name in found.keys() - PROXIES} == {
        "HOME": "/home/me",
        "TMPDIR": "/tmp",
        "GOMODCACHE": "/tmp/gomodcache",
    }
    for given, path in (("/home/me/.cache", "/home/me/.cache"), ("/big", "/tmp/xdg_cache_home")):
        found = environment.within({"XDG_CACHE_HOME": given}, home)
        assert found["XDG_CACHE_HOME"] == path


def test_the_way_out_is_the_proxy_whatever_was_there() -> None:
    given = {"HTTPS_PROXY": "http://other:8080", "no_proxy": "*"}
    found = environment.within(given, Place("/ws"))
    assert {found[name] for name in PROXIES if name.lower().endswith("s_proxy")} == {
        f"http://127.0.0.1:{PORT}"
    }
    assert found["no_proxy"] == found["NO_PROXY"] == "localhost,127.0.0.1,::1"


def test_values_that_are_secrets_are_left_out_whatever_their_name() -> None:
    given = {
        "A": "https://me:word@example.org/x",
        "B": "ghp_0123456789abcdef",
        "C": "-----BEGIN OPENSSH PRIVATE KEY-----",
        "D": "eyJhbGciOiJI.eyJzdWIiOiIx.x",
        "NPM_PROXY": "http://u:p@proxy:8080",
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
