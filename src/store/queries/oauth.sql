-- Programs to which the master gives tokens for SCIM, and these tokens (0058_oauth.sql).

-- row: store_oauth_client of oauth_clients c
c.id: text, c.name,
c.redirect_uri, -- where browsers are sent back to, exactly
c.secret_hash: bytes[STORE_TOKEN_HASH_SIZE],
c.user_id, -- who has added it
c.created_us

-- name: oauth_clients_insert
-- function: store_oauth_client_insert
INSERT INTO {insert store_oauth_client};

-- Deletes the client, and with it all its tokens.
-- name: oauth_clients_delete with id: text
-- function: store_oauth_client_delete
-- missing: OAuth client '$id'
DELETE FROM oauth_clients WHERE id = $id;

-- name: oauth_clients_by_id with id: text
-- function: store_oauth_client_get returns row
-- missing: OAuth client '$id'
SELECT {store_oauth_client} FROM oauth_clients c WHERE c.id = $id;

-- name: oauth_clients_all
-- function: store_oauth_clients returns rows
SELECT {store_oauth_client} FROM oauth_clients c ORDER BY c.created_us, c.id;

-- ---- codes and tokens ----

-- row: store_oauth_token of oauth_tokens t, oauth_clients c
t.token_hash: bytes[STORE_TOKEN_HASH_SIZE], t.client_id: text,
t.kind,      -- CODE, REFRESH, ACCESS
t.code_id: i64, -- of tokens: the code that they were given for; 0: the client has asked in its own name
t.challenge, -- of a code: what PKCE compares; "": nothing
t.used: bool, -- of a code: tokens were given for it
t.revoked: bool, t.created_us, t.expiry_us,
-- read only
t.id: i64, c.name AS client_name

-- name: oauth_tokens_insert
-- function: store_oauth_token_insert
INSERT INTO {insert store_oauth_token};

-- name: oauth_tokens_by_hash with token_hash: hash
-- function: store_oauth_token_get returns row
-- missing: token
SELECT {store_oauth_token} FROM oauth_tokens t JOIN oauth_clients c ON c.id = t.client_id WHERE t.token_hash = $token_hash;

-- Tokens are given for a code once: of two requests at the same time, the second one fails here.
-- name: oauth_tokens_use with id: i64
-- function: store_oauth_code_use
-- missing: unused code
UPDATE oauth_tokens SET used = 1 WHERE id = $id AND used = 0;

-- name: oauth_tokens_extend with id: i64, expiry_us: us
-- function: store_oauth_token_extend
UPDATE oauth_tokens SET expiry_us = $expiry_us WHERE id = $id;

-- Ends all tokens that were given for a code.
-- name: oauth_tokens_revoke_of_code with code_id: i64
-- function: store_oauth_tokens_revoke
UPDATE oauth_tokens SET revoked = 1 WHERE code_id = $code_id;

-- Deletes the tokens for SCIM of a client but the newest.
-- name: oauth_tokens_delete_oldest with client_id: text, keep: i64
-- function: store_oauth_tokens_trim
DELETE FROM oauth_tokens WHERE client_id = $client_id AND kind = 'ACCESS' AND id NOT IN
    (SELECT id FROM oauth_tokens WHERE client_id = $client_id AND kind = 'ACCESS' ORDER BY id DESC LIMIT $keep);

-- name: oauth_tokens_forget with before_us: us
-- function: store_oauth_tokens_forget
DELETE FROM oauth_tokens WHERE expiry_us <= $before_us;
