-- Set when the payload of an ended action was dropped; the row stays, so that its key still answers.
ALTER TABLE actions ADD COLUMN pruned_at TIMESTAMP;
CREATE INDEX actions_to_prune ON actions (decided_at, id) WHERE decided_at IS NOT NULL AND pruned_at IS NULL;

-- The token bucket (GCRA) of each agent's new writes: the theoretical arrival time of the next.
CREATE TABLE write_buckets (
    agent_id   TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES agents (id),
    arrival_at TIMESTAMP NOT NULL
);
