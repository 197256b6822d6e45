-- Denials that happen more often than an event each is worth: those of one kind, actor and code in one minute, and where
-- nobody could be authenticated of one door and address. What is absent is ''.
CREATE TABLE floods (
    event      TEXT COLLATE "C" NOT NULL,
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor_id   TEXT COLLATE "C" NOT NULL,
    door       TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL,
    code       TEXT COLLATE "C" NOT NULL,
    minute     TIMESTAMP NOT NULL,
    denials    BIGINT NOT NULL,
    PRIMARY KEY (event, actor_kind, actor_id, door, address, code, minute)
);
CREATE INDEX floods_by_minute ON floods (minute);

INSERT INTO floods (event, actor_kind, actor_id, door, address, code, minute, denials)
SELECT 'tool_call', 'agent', agent_id, 'internal', '', code, minute, denials FROM denial_floods;
DROP TABLE denial_floods;
