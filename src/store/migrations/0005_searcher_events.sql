-- What a searcher was told after its snapshot: restored, it is told again. Lines of text, see core/searcher/snapshot.c.
CREATE TABLE searcher_events (
    experiment_id INTEGER NOT NULL REFERENCES experiments ON DELETE CASCADE,
    first INTEGER NOT NULL,           -- number of the first of these events, counted from the beginning
    lines TEXT NOT NULL,
    PRIMARY KEY (experiment_id, first)
) STRICT;
