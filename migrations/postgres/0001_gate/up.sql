CREATE TABLE people (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    email         TEXT COLLATE "C" NOT NULL UNIQUE,
    role          TEXT COLLATE "C" NOT NULL CHECK (role IN ('owner', 'approver', 'auditor', 'viewer')),
    password_hash TEXT COLLATE "C" NOT NULL,
    enabled       BOOLEAN NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    lock_no       BIGINT NOT NULL
);

CREATE TABLE agents (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    owner_id   TEXT COLLATE "C" REFERENCES people (id),
    scopes     TEXT COLLATE "C" NOT NULL,
    created_at TIMESTAMP NOT NULL,
    revoked_at TIMESTAMP,
    lock_no    BIGINT NOT NULL
);

-- Agent keys and API tokens: found by their public prefix, known only by their HMAC.
CREATE TABLE credentials (
    prefix     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    mac        TEXT COLLATE "C" NOT NULL,
    agent_id   TEXT COLLATE "C" REFERENCES agents (id),
    person_id  TEXT COLLATE "C" REFERENCES people (id),
    created_at TIMESTAMP NOT NULL,
    revoked_at TIMESTAMP,
    CHECK ((agent_id IS NULL) <> (person_id IS NULL))
);
CREATE INDEX credentials_agent ON credentials (agent_id);
CREATE INDEX credentials_person ON credentials (person_id);

CREATE TABLE sessions (
    prefix     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    mac        TEXT COLLATE "C" NOT NULL,
    person_id  TEXT COLLATE "C" NOT NULL REFERENCES people (id),
    address    TEXT COLLATE "C",
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    ended_at   TIMESTAMP,
    lock_no    BIGINT NOT NULL
);
CREATE INDEX sessions_person ON sessions (person_id);

CREATE TABLE actions (
    id                 TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind               TEXT COLLATE "C" NOT NULL,
    kind_version       INTEGER NOT NULL,
    agent_id           TEXT COLLATE "C" NOT NULL REFERENCES agents (id),
    slot_key           TEXT COLLATE "C" NOT NULL,
    attempt            BIGINT NOT NULL CHECK (attempt > 0),
    previous_action_id TEXT COLLATE "C" REFERENCES actions (id),
    requested_params   TEXT COLLATE "C" NOT NULL,
    effective_params   TEXT COLLATE "C" NOT NULL,
    fingerprint        TEXT COLLATE "C" NOT NULL,
    reason             TEXT COLLATE "C" NOT NULL,
    digest             TEXT COLLATE "C" NOT NULL,
    summary            TEXT COLLATE "C" NOT NULL,
    headline           TEXT COLLATE "C" NOT NULL,
    figure             TEXT COLLATE "C" NOT NULL,
    status             TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'executing', 'executed', 'failed', 'rejected', 'withdrawn', 'expired', 'indeterminate')),
    requested_at       TIMESTAMP NOT NULL,
    expires_at         TIMESTAMP NOT NULL,
    decided_at         TIMESTAMP,
    decided_by         TEXT COLLATE "C" REFERENCES people (id),
    decision_note      TEXT COLLATE "C",
    changes            TEXT COLLATE "C",
    result             TEXT COLLATE "C",
    refusal_rule       TEXT COLLATE "C",
    refusal_message    TEXT COLLATE "C",
    lock_no            BIGINT NOT NULL,
    UNIQUE (agent_id, slot_key, attempt),
    CHECK ((status = 'pending') = (decided_at IS NULL)),
    CHECK ((status = 'executed') = (result IS NOT NULL)),
    CHECK ((status = 'failed') = (refusal_rule IS NOT NULL)),
    CHECK ((refusal_rule IS NULL) = (refusal_message IS NULL)),
    CHECK ((status IN ('executed', 'failed', 'rejected', 'executing', 'indeterminate')) = (decided_by IS NOT NULL))
);
CREATE INDEX actions_waiting ON actions (expires_at, id) WHERE status = 'pending';
CREATE INDEX actions_by_status ON actions (status, id);
CREATE INDEX actions_by_kind ON actions (kind, id);
CREATE INDEX actions_by_agent ON actions (agent_id, id);
CREATE INDEX actions_by_fingerprint ON actions (fingerprint, id);

-- The records an action concerns, at the versions its preview saw.
CREATE TABLE action_subjects (
    action_id TEXT COLLATE "C" NOT NULL REFERENCES actions (id),
    subject   TEXT COLLATE "C" NOT NULL,
    version   BIGINT NOT NULL,
    PRIMARY KEY (action_id, subject)
);
CREATE INDEX action_subjects_by_subject ON action_subjects (subject, action_id);

CREATE TABLE slots (
    principal_id TEXT COLLATE "C" NOT NULL REFERENCES agents (id),
    key          TEXT COLLATE "C" NOT NULL,
    fingerprint  TEXT COLLATE "C" NOT NULL,
    action_id    TEXT COLLATE "C" REFERENCES actions (id),
    attempt      BIGINT NOT NULL,
    touches      BIGINT NOT NULL,
    PRIMARY KEY (principal_id, key)
);

-- A row is a pause in force: 'all', 'kind:NAME' or 'agent:ID'.
CREATE TABLE pauses (
    target    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    paused_by TEXT COLLATE "C" REFERENCES people (id),
    paused_at TIMESTAMP NOT NULL
);

-- The denials of one agent, code and minute after the first, until they close into one event.
CREATE TABLE denial_floods (
    agent_id TEXT COLLATE "C" NOT NULL REFERENCES agents (id),
    code     TEXT COLLATE "C" NOT NULL,
    minute   TIMESTAMP NOT NULL,
    denials  BIGINT NOT NULL,
    PRIMARY KEY (agent_id, code, minute)
);

-- `seq` is not commit order: a reader that must miss nothing waits for whoever was writing when it looked where the log ends.
CREATE TABLE audit_events (
    seq        BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    tx         BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    at         TIMESTAMP NOT NULL,
    category   TEXT COLLATE "C" NOT NULL,
    event      TEXT COLLATE "C" NOT NULL,
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id   TEXT COLLATE "C",
    action_id  TEXT COLLATE "C",
    subject    TEXT COLLATE "C",
    outcome    TEXT COLLATE "C" NOT NULL,
    denied     BOOLEAN NOT NULL,
    body       TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_events_by_action ON audit_events (action_id, seq);
CREATE INDEX audit_events_by_actor ON audit_events (actor_id, seq);
CREATE INDEX audit_events_by_category ON audit_events (category, seq);
CREATE INDEX audit_events_denied ON audit_events (seq) WHERE denied;
CREATE INDEX audit_events_at ON audit_events (at, seq);

CREATE FUNCTION audit_events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END
$$;
CREATE TRIGGER audit_events_no_change BEFORE UPDATE OR DELETE ON audit_events
FOR EACH ROW EXECUTE FUNCTION audit_events_append_only();
CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON audit_events
FOR EACH STATEMENT EXECUTE FUNCTION audit_events_append_only();
