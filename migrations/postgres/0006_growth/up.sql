-- Until when an action can be open at most, beside each of its records: what is long over is not looked at again.
ALTER TABLE action_subjects ADD COLUMN expires_at timestamp;
UPDATE action_subjects SET expires_at = (SELECT expires_at FROM actions WHERE actions.id = action_id);
CREATE INDEX action_subjects_close ON action_subjects (subject, expires_at, action_id);

-- A process of an earlier release may be running still.
CREATE FUNCTION fill_action_subject() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.expires_at := (SELECT expires_at FROM actions WHERE id = NEW.action_id);
    RETURN NEW;
END $$;
CREATE TRIGGER action_subjects_fill BEFORE INSERT ON action_subjects
FOR EACH ROW WHEN (NEW.expires_at IS NULL) EXECUTE FUNCTION fill_action_subject();

-- Equal writes: those that are close in time, and the latest that was decided so.
DROP INDEX actions_by_fingerprint;
CREATE INDEX actions_equal_close ON actions (fingerprint, expires_at, id);
CREATE INDEX actions_equal_decided ON actions (fingerprint, status, decided_at, id);

-- A person's sign-ins of years are over but for a few.
DROP INDEX sessions_person;
CREATE INDEX sessions_open ON sessions (person_id) WHERE ended_at IS NULL;
