-- Until when an action can be open at most, beside each of its records: what is long over is not looked at again.
ALTER TABLE action_subjects ADD COLUMN expires_at timestamp;
UPDATE action_subjects SET expires_at = (SELECT expires_at FROM actions WHERE actions.id = action_id);
CREATE INDEX action_subjects_close ON action_subjects (subject, expires_at, action_id);

-- Equal writes: those that are close in time, and the latest that was decided so.
DROP INDEX actions_by_fingerprint;
CREATE INDEX actions_equal_close ON actions (fingerprint, expires_at, id);
CREATE INDEX actions_equal_decided ON actions (fingerprint, status, decided_at, id);

-- A person's sign-ins of years are over but for a few.
DROP INDEX sessions_person;
CREATE INDEX sessions_open ON sessions (person_id) WHERE ended_at IS NULL;
