-- One row at most: what tells the secret that keys, tokens and sessions are made under from any other.
CREATE TABLE secret_mark (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    mac TEXT NOT NULL
) STRICT;
