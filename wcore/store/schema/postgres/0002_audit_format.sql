-- A row says which columns its hash covers, so that a new one never makes old rows look altered.
ALTER TABLE agent_tool_approval_audit ADD COLUMN rule_source TEXT;
ALTER TABLE agent_tool_approval_audit ADD COLUMN format BIGINT NOT NULL DEFAULT 1;
ALTER TABLE agent_tool_approval_audit ALTER COLUMN format DROP DEFAULT;
ALTER TABLE agent_tool_approval_audit
    DROP CONSTRAINT agent_tool_approval_audit_source_check;
ALTER TABLE agent_tool_approval_audit
    ADD CONSTRAINT agent_tool_approval_audit_source_check CHECK (source IN (
        'user', 'rule', 'safety', 'grant', 'override', 'mode', 'tier', 'default', 'timeout',
        'host_gone', 'stop', 'signal', 'no_prompts', 'hook', 'review', 'redirect', 'sandbox',
        'plan', 'approvers'));
