-- What a directory service says of its accounts (SCIM) beyond what the platform itself uses: it expects to read it back.
CREATE TABLE scim_users (
    user_id INTEGER PRIMARY KEY REFERENCES users,
    external_id TEXT NOT NULL,  -- the directory's own id; '': it has not said one
    attributes TEXT NOT NULL    -- JSON: externalId, name, displayName, emails
) STRICT;
-- for scim_users_find
CREATE INDEX scim_users_external ON scim_users (external_id);
