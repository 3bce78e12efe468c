-- A row says which columns its hash covers, so that a new one never makes old rows look altered.
-- The table is made anew: SQLite cannot change the list of sources in place.
DROP TRIGGER audit_is_never_changed;
DROP TRIGGER audit_is_never_deleted;
DROP TRIGGER audit_is_never_replaced;
ALTER TABLE agent_tool_approval_audit RENAME TO audit_of_format_1;

CREATE TABLE agent_tool_approval_audit (
    id            TEXT PRIMARY KEY,
    tool_call_id  TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    chat_id       TEXT NOT NULL,
    tool_name     TEXT NOT NULL,
    decision      TEXT NOT NULL CHECK (decision IN ('approved', 'denied', 'denied_with_reason')),
    with_override BOOLEAN NOT NULL,
    reason        TEXT CHECK (length(reason) <= 2000),
    created_at    TEXT NOT NULL,
    source        TEXT NOT NULL CHECK (source IN (
        'user', 'rule', 'safety', 'grant', 'override', 'mode', 'tier', 'default', 'timeout',
        'host_gone', 'stop', 'signal', 'no_prompts', 'hook', 'review', 'redirect', 'sandbox',
        'plan', 'approvers')),
    rule_id       TEXT,
    rule_source   TEXT, -- path:line of the policy file, since format 2
    format        BIGINT NOT NULL,
    seq           BIGINT NOT NULL UNIQUE,
    prev_hash     TEXT NOT NULL,
    hash          TEXT NOT NULL,
    CHECK ((decision = 'denied_with_reason') = (reason IS NOT NULL))
);

INSERT INTO agent_tool_approval_audit
SELECT id, tool_call_id, user_id, agent_id, chat_id, tool_name, decision, with_override, reason,
       created_at, source, rule_id, NULL, 1, seq, prev_hash, hash
FROM audit_of_format_1 ORDER BY seq;

DROP TABLE audit_of_format_1;

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON agent_tool_approval_audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;

CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON agent_tool_approval_audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;

-- INSERT OR REPLACE deletes without asking the trigger above.
CREATE TRIGGER audit_is_never_replaced BEFORE INSERT ON agent_tool_approval_audit
WHEN EXISTS (SELECT 1 FROM agent_tool_approval_audit WHERE id = NEW.id OR seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
