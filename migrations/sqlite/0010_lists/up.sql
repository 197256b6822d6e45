-- A list of one kind or one agent in one state, however long the history of its other states is.
CREATE INDEX actions_by_kind_status ON actions (kind, status, id);
CREATE INDEX actions_by_agent_status ON actions (agent_id, status, id);

-- No plan depends on what is bound to a statement, so the index says it as the statement does.
DROP INDEX audit_events_denied;
CREATE INDEX audit_events_denied ON audit_events (seq) WHERE denied;
