-- One row at most: what tells the secret under which keys, tokens and sessions are made apart from any other.
CREATE TABLE secret_mark (
    one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    salt TEXT COLLATE "C" NOT NULL,
    mac  TEXT COLLATE "C" NOT NULL
);
