-- What waits, in the order in which it has to be decided. A statement that is told the status as a value finds no index of the
-- pending alone.
DROP INDEX actions_waiting;
CREATE INDEX actions_by_due ON actions (status, expires_at, id);
CREATE INDEX actions_by_kind_due ON actions (kind, status, expires_at, id);
