-- Grants of one command text, tied to the scripts that it runs. SQLite cannot change a CHECK.
CREATE TABLE grants_now (
    grant_id      TEXT PRIMARY KEY,
    same          TEXT NOT NULL UNIQUE, -- digest of what makes two grants the same yes
    user_id       TEXT NOT NULL,
    workspace     TEXT NOT NULL, -- empty: every workspace of the user
    agent         TEXT NOT NULL,
    tool          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('name', 'prefix', 'path', 'exact')),
    value         TEXT NOT NULL, -- the prefix, the folder or the command; empty for a name
    from_call_id  TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    expires_at    TEXT,
    uses          BIGINT NOT NULL DEFAULT 0,
    agent_digest  TEXT,
    launch_digest TEXT,
    schema_digest TEXT,
    ties_digest   TEXT -- of what an exact command runs, and where it leads
);
INSERT INTO grants_now (grant_id, same, user_id, workspace, agent, tool, kind, value,
        from_call_id, created_at, expires_at, uses, agent_digest, launch_digest, schema_digest)
    SELECT grant_id, same, user_id, workspace, agent, tool, kind, value,
        from_call_id, created_at, expires_at, uses, agent_digest, launch_digest, schema_digest
    FROM grants;
DROP TABLE grants;
ALTER TABLE grants_now RENAME TO grants;
