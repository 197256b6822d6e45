-- A list of one kind or one agent in one state, however long the history of its other states is.
CREATE INDEX actions_by_kind_status ON actions (kind, status, id);
CREATE INDEX actions_by_agent_status ON actions (agent_id, status, id);
