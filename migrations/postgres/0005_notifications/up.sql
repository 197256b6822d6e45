-- How much an action is about, for people who want to hear of large ones: minor units of a currency, or pieces.
ALTER TABLE actions ADD COLUMN amount BIGINT CHECK (amount >= 0);
ALTER TABLE actions ADD COLUMN unit TEXT COLLATE "C" CHECK ((unit IS NULL) = (amount IS NULL));

-- What people are yet to be told. Written with the thing it tells of, and gone once the outbox holds the messages.
CREATE TABLE notices (
    id        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    topic     TEXT COLLATE "C" NOT NULL CHECK (topic IN ('requested', 'reminder', 'expired', 'decided', 'undelivered', 'signed_in', 'password_changed')),
    at        TIMESTAMP NOT NULL,
    due_at    TIMESTAMP NOT NULL,
    action_id TEXT COLLATE "C" REFERENCES actions (id),
    person_id TEXT COLLATE "C" REFERENCES people (id),
    detail    TEXT COLLATE "C" NOT NULL
);
CREATE INDEX notices_due ON notices (due_at, id);

-- One message to one person. It collects notices until a worker takes it for the first time.
CREATE TABLE outbox (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    channel      TEXT COLLATE "C" NOT NULL,
    person_id    TEXT COLLATE "C" NOT NULL REFERENCES people (id),
    bundle       TEXT COLLATE "C" NOT NULL,
    status       TEXT COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'sent', 'dead', 'dropped')),
    due_at       TIMESTAMP NOT NULL,
    attempts     BIGINT NOT NULL CHECK (attempts >= 0),
    lease        TEXT COLLATE "C",
    leased_until TIMESTAMP,
    last_error   TEXT COLLATE "C",
    created_at   TIMESTAMP NOT NULL,
    begun_at     TIMESTAMP,
    ended_at     TIMESTAMP,
    CHECK ((status = 'waiting') = (ended_at IS NULL)),
    CHECK ((lease IS NULL) = (leased_until IS NULL)),
    CHECK (status = 'waiting' OR lease IS NULL),
    CHECK ((attempts = 0) = (begun_at IS NULL))
);
CREATE UNIQUE INDEX outbox_open ON outbox (person_id, channel, bundle) WHERE status = 'waiting' AND attempts = 0;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE status = 'waiting';
CREATE INDEX outbox_by_status ON outbox (status, ended_at, id);
CREATE INDEX outbox_by_person ON outbox (person_id, channel, bundle, begun_at);

CREATE TABLE outbox_items (
    message_id TEXT COLLATE "C" NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    notice_id  TEXT COLLATE "C" NOT NULL,
    topic      TEXT COLLATE "C" NOT NULL,
    at         TIMESTAMP NOT NULL,
    action_id  TEXT COLLATE "C" REFERENCES actions (id),
    detail     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (message_id, notice_id)
);
CREATE INDEX outbox_items_by_action ON outbox_items (action_id, message_id);

-- How a person wants to be told. Without a row: UTC and no quiet hours. Minutes of the local day.
CREATE TABLE notification_settings (
    person_id   TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES people (id),
    time_zone   TEXT COLLATE "C" NOT NULL,
    quiet_from  INTEGER CHECK (quiet_from BETWEEN 0 AND 1439),
    quiet_until INTEGER CHECK (quiet_until BETWEEN 0 AND 1439),
    CHECK ((quiet_from IS NULL) = (quiet_until IS NULL))
);

-- When a person is told of a kind: the rule without a unit for all of it, others from an amount on.
CREATE TABLE notification_rules (
    person_id   TEXT COLLATE "C" NOT NULL REFERENCES people (id),
    kind        TEXT COLLATE "C" NOT NULL,
    unit        TEXT COLLATE "C" NOT NULL,
    from_amount BIGINT NOT NULL CHECK (from_amount >= 0),
    timing      TEXT COLLATE "C" NOT NULL CHECK (timing IN ('at_once', 'quarter_hourly', 'hourly', 'never')),
    PRIMARY KEY (person_id, kind, unit, from_amount),
    CHECK (unit <> '' OR from_amount = 0)
);

-- A row is a list of mails that a person takes no part in.
CREATE TABLE notification_mutes (
    person_id TEXT COLLATE "C" NOT NULL REFERENCES people (id),
    list      TEXT COLLATE "C" NOT NULL CHECK (list IN ('requests', 'outcomes', 'deliveries')),
    muted_at  TIMESTAMP NOT NULL,
    PRIMARY KEY (person_id, list)
);
