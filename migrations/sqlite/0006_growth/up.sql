-- Until when an action can be open at most, beside each of its records: what is long over is not looked at again.
ALTER TABLE action_subjects ADD COLUMN expires_at TEXT;
UPDATE action_subjects SET expires_at = (SELECT expires_at FROM actions WHERE actions.id = action_id);
CREATE INDEX action_subjects_close ON action_subjects (subject, expires_at, action_id);

-- A process of an earlier release may be running still.
CREATE TRIGGER action_subjects_fill AFTER INSERT ON action_subjects WHEN NEW.expires_at IS NULL
BEGIN
    UPDATE action_subjects SET expires_at = (SELECT expires_at FROM actions WHERE id = NEW.action_id)
    WHERE action_id = NEW.action_id AND subject = NEW.subject;
END;

-- Equal writes: those that are close in time, and the latest that was decided so.
DROP INDEX actions_by_fingerprint;
CREATE INDEX actions_equal_close ON actions (fingerprint, expires_at, id);
CREATE INDEX actions_equal_decided ON actions (fingerprint, status, decided_at, id);

-- A person's sign-ins of years are over but for a few.
DROP INDEX sessions_person;
CREATE INDEX sessions_open ON sessions (person_id) WHERE ended_at IS NULL;
