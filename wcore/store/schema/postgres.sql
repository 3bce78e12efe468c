-- The same tables as for SQLite, with the types of this database; a test compares them.

CREATE TABLE store_versions (
    name    TEXT PRIMARY KEY, -- grants, or tiers and overrides
    version BIGINT NOT NULL
);
INSERT INTO store_versions (name, version) VALUES ('grants', 0), ('tiers', 0);

-- That an agent was given a set at all: an empty set offers nothing.
CREATE TABLE agent_tool_sets (
    agent_id UUID PRIMARY KEY,
    set_at   TIMESTAMPTZ NOT NULL
);

CREATE TABLE agent_tool_permissions (
    agent_id          UUID NOT NULL,
    tool_name         TEXT NOT NULL,
    provider_key      TEXT NOT NULL,
    permission_status TEXT NOT NULL
        CHECK (permission_status IN ('always_allow', 'needs_approval', 'blocked')),
    status_source     TEXT NOT NULL CHECK (status_source IN ('explicit', 'default')),
    created_at        TIMESTAMPTZ NOT NULL,
    UNIQUE (agent_id, tool_name)
);

CREATE TABLE agent_tool_user_overrides (
    user_id    UUID NOT NULL,
    agent_id   UUID NOT NULL,
    tool_name  TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    UNIQUE (user_id, agent_id, tool_name)
);

CREATE TABLE grants (
    grant_id      TEXT PRIMARY KEY,
    same          TEXT NOT NULL UNIQUE, -- digest of what makes two grants the same yes
    user_id       UUID NOT NULL,
    workspace     TEXT NOT NULL, -- empty: every workspace of the user
    agent         TEXT NOT NULL,
    tool          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('name', 'prefix', 'path', 'exact')),
    value         TEXT NOT NULL, -- the prefix, the folder or the command; empty for a name
    from_call_id  TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ,
    uses          BIGINT NOT NULL DEFAULT 0,
    agent_digest  TEXT,
    launch_digest TEXT,
    schema_digest TEXT,
    ties_digest   TEXT -- of what an exact command runs, and where it leads
);

-- A row says which columns its hash covers, so that a new one never makes old rows look altered.
CREATE TABLE agent_tool_approval_audit (
    id            UUID PRIMARY KEY,
    tool_call_id  TEXT NOT NULL,
    user_id       UUID NOT NULL,
    agent_id      UUID NOT NULL,
    chat_id       UUID NOT NULL,
    tool_name     TEXT NOT NULL,
    decision      TEXT NOT NULL CHECK (decision IN ('approved', 'denied', 'denied_with_reason')),
    with_override BOOLEAN NOT NULL,
    reason        TEXT CHECK (length(reason) <= 2000),
    created_at    TIMESTAMPTZ NOT NULL,
    source        TEXT NOT NULL CHECK (source IN (
        'user', 'rule', 'safety', 'grant', 'override', 'mode', 'tier', 'default', 'timeout',
        'host_gone', 'stop', 'signal', 'no_prompts', 'hook', 'review', 'redirect', 'sandbox',
        'plan', 'approvers')),
    rule_id       TEXT,
    rule_source   TEXT, -- path:line of the policy file
    format        BIGINT NOT NULL,
    seq           BIGINT NOT NULL UNIQUE,
    prev_hash     TEXT NOT NULL,
    hash          TEXT NOT NULL,
    CHECK ((decision = 'denied_with_reason') = (reason IS NOT NULL))
);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only';
END;
$$;

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE OR DELETE ON agent_tool_approval_audit
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();

CREATE TRIGGER audit_is_never_emptied BEFORE TRUNCATE ON agent_tool_approval_audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

CREATE TABLE sessions (
    session_key     UUID PRIMARY KEY,
    session_id      TEXT NOT NULL,
    user_id         UUID NOT NULL,
    workspace       TEXT NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    last_at         TIMESTAMPTZ NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('idle', 'in_turn')),
    lease_owner     TEXT, -- random, one per engine; NULL: nobody has the session
    lease_place     TEXT, -- where the process number below means something
    lease_pid       BIGINT,
    lease_started   BIGINT,
    lease_until     TIMESTAMPTZ,
    UNIQUE (user_id, session_id)
);

CREATE TABLE journal (
    session_key UUID NOT NULL REFERENCES sessions (session_key),
    seq         BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    at          TIMESTAMPTZ NOT NULL,
    body        TEXT NOT NULL, -- a JSON object in ASCII
    PRIMARY KEY (session_key, seq)
);
