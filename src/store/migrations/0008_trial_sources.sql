-- Which trials use which checkpoint, and as what: for the metrics of a checkpoint or of a model's version.
CREATE TABLE trial_source_infos (
    trial_id INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,
    checkpoint_uuid TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('INFERENCE', 'FINE_TUNING')),
    model_id INTEGER,
    model_version INTEGER,
    PRIMARY KEY (trial_id, checkpoint_uuid, type)
) STRICT;
