CREATE TABLE people (
    id            TEXT    NOT NULL PRIMARY KEY,
    email         TEXT    NOT NULL UNIQUE,
    role          TEXT    NOT NULL CHECK (role IN ('owner', 'approver', 'auditor', 'viewer')),
    password_hash TEXT    NOT NULL,
    enabled       INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    created_at    TEXT    NOT NULL,
    lock_no       INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    owner_id   TEXT    REFERENCES people (id),
    scopes     TEXT    NOT NULL,
    created_at TEXT    NOT NULL,
    revoked_at TEXT,
    lock_no    INTEGER NOT NULL
) STRICT;

-- Agent keys and API tokens: found by their public prefix, known only by their HMAC.
CREATE TABLE credentials (
    prefix     TEXT NOT NULL PRIMARY KEY,
    mac        TEXT NOT NULL,
    agent_id   TEXT REFERENCES agents (id),
    person_id  TEXT REFERENCES people (id),
    created_at TEXT NOT NULL,
    revoked_at TEXT,
    CHECK ((agent_id IS NULL) <> (person_id IS NULL))
) STRICT;
CREATE INDEX credentials_agent ON credentials (agent_id);
CREATE INDEX credentials_person ON credentials (person_id);

CREATE TABLE sessions (
    prefix     TEXT    NOT NULL PRIMARY KEY,
    mac        TEXT    NOT NULL,
    person_id  TEXT    NOT NULL REFERENCES people (id),
    address    TEXT,
    created_at TEXT    NOT NULL,
    expires_at TEXT    NOT NULL,
    ended_at   TEXT,
    lock_no    INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_person ON sessions (person_id);

CREATE TABLE actions (
    id                 TEXT    NOT NULL PRIMARY KEY,
    kind               TEXT    NOT NULL,
    kind_version       INTEGER NOT NULL,
    agent_id           TEXT    NOT NULL REFERENCES agents (id),
    slot_key           TEXT    NOT NULL,
    attempt            INTEGER NOT NULL CHECK (attempt > 0),
    previous_action_id TEXT    REFERENCES actions (id),
    requested_params   TEXT    NOT NULL,
    effective_params   TEXT    NOT NULL,
    fingerprint        TEXT    NOT NULL,
    reason             TEXT    NOT NULL,
    digest             TEXT    NOT NULL,
    summary            TEXT    NOT NULL,
    headline           TEXT    NOT NULL,
    figure             TEXT    NOT NULL,
    status             TEXT    NOT NULL CHECK (status IN ('pending', 'executing', 'executed', 'failed', 'rejected', 'withdrawn', 'expired', 'indeterminate')),
    requested_at       TEXT    NOT NULL,
    expires_at         TEXT    NOT NULL,
    decided_at         TEXT,
    decided_by         TEXT    REFERENCES people (id),
    decision_note      TEXT,
    changes            TEXT,
    result             TEXT,
    refusal_rule       TEXT,
    refusal_message    TEXT,
    lock_no            INTEGER NOT NULL,
    UNIQUE (agent_id, slot_key, attempt),
    CHECK ((status = 'pending') = (decided_at IS NULL)),
    CHECK ((status = 'executed') = (result IS NOT NULL)),
    CHECK ((status = 'failed') = (refusal_rule IS NOT NULL)),
    CHECK ((refusal_rule IS NULL) = (refusal_message IS NULL)),
    CHECK ((status IN ('executed', 'failed', 'rejected', 'executing', 'indeterminate')) = (decided_by IS NOT NULL))
) STRICT;
CREATE INDEX actions_waiting ON actions (expires_at, id) WHERE status = 'pending';
CREATE INDEX actions_by_status ON actions (status, id);
CREATE INDEX actions_by_kind ON actions (kind, id);
CREATE INDEX actions_by_agent ON actions (agent_id, id);
CREATE INDEX actions_by_fingerprint ON actions (fingerprint, id);

-- The records an action concerns, at the versions its preview saw.
CREATE TABLE action_subjects (
    action_id TEXT    NOT NULL REFERENCES actions (id),
    subject   TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    PRIMARY KEY (action_id, subject)
) STRICT;
CREATE INDEX action_subjects_by_subject ON action_subjects (subject, action_id);

CREATE TABLE slots (
    principal_id TEXT    NOT NULL REFERENCES agents (id),
    key          TEXT    NOT NULL,
    fingerprint  TEXT    NOT NULL,
    action_id    TEXT    REFERENCES actions (id),
    attempt      INTEGER NOT NULL,
    touches      INTEGER NOT NULL,
    PRIMARY KEY (principal_id, key)
) STRICT;

-- A row is a pause in force: 'all', 'kind:NAME' or 'agent:ID'.
CREATE TABLE pauses (
    target    TEXT NOT NULL PRIMARY KEY,
    paused_by TEXT REFERENCES people (id),
    paused_at TEXT NOT NULL
) STRICT;

-- The denials of one agent, code and minute after the first, until they close into one event.
CREATE TABLE denial_floods (
    agent_id TEXT    NOT NULL REFERENCES agents (id),
    code     TEXT    NOT NULL,
    minute   TEXT    NOT NULL,
    denials  INTEGER NOT NULL,
    PRIMARY KEY (agent_id, code, minute)
) STRICT;

CREATE TABLE audit_events (
    seq        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id         TEXT    NOT NULL UNIQUE,
    tx         INTEGER NOT NULL DEFAULT 0,
    at         TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    event      TEXT    NOT NULL,
    actor_kind TEXT    NOT NULL,
    actor_id   TEXT,
    action_id  TEXT,
    subject    TEXT,
    outcome    TEXT    NOT NULL,
    denied     INTEGER NOT NULL CHECK (denied IN (0, 1)),
    body       TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_events_by_action ON audit_events (action_id, seq);
CREATE INDEX audit_events_by_actor ON audit_events (actor_id, seq);
CREATE INDEX audit_events_by_category ON audit_events (category, seq);
CREATE INDEX audit_events_denied ON audit_events (seq) WHERE denied = 1;
CREATE INDEX audit_events_at ON audit_events (at, seq);

CREATE TRIGGER audit_events_no_update BEFORE UPDATE ON audit_events
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_events_no_delete BEFORE DELETE ON audit_events
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
-- INSERT OR REPLACE passes the two above on a connection without recursive_triggers; this one holds on every connection.
CREATE TRIGGER audit_events_no_replace BEFORE INSERT ON audit_events
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
