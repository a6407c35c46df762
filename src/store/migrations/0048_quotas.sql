-- How many slots a workspace, a user, or a user within a workspace may have. One of the two ids may be 0, for all.
CREATE TABLE quotas (
    workspace_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    own INTEGER NOT NULL,              -- slots before everybody who borrows
    max_slots INTEGER NOT NULL,        -- the most slots, with what is borrowed
    PRIMARY KEY (workspace_id, user_id)
) STRICT;
