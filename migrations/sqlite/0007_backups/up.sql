-- In a copy of a database: the moment of the copy. What was executed after it is not in here.
ALTER TABLE pauses ADD COLUMN restored_from TEXT;
