-- From where a person has signed in before, among the sign-ins of years.
CREATE INDEX sessions_places ON sessions (person_id, address);

-- Nobody reads it any more.
ALTER TABLE audit_events DROP COLUMN tx;
