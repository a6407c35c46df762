-- How often each label is used in a project: counted when labels change, so that nobody reads all experiments for it.
CREATE TABLE label_counts (
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    label TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (project_id, label)
) STRICT;
-- for labels_forget
CREATE INDEX label_counts_unused ON label_counts (n) WHERE n <= 0;
INSERT INTO label_counts (project_id, label, n)
-- sqlite: SELECT x.project_id, l.value, count(DISTINCT x.id) FROM experiments x, json_each(x.labels) l
-- postgres: SELECT x.project_id, l.value, count(DISTINCT x.id) FROM experiments x,
-- postgres: LATERAL (SELECT e COLLATE "C" AS value FROM json_array_elements_text(x.labels::json) e) l
GROUP BY x.project_id, l.value;

-- A run is archived on its own, beside its experiment.
ALTER TABLE trials ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
