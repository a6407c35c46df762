-- The audit log (src/store/changes).

-- row: store_change_note of change_notes n, change_head h
n.actor, n.kind, n.object_id, n.action, n.old_values, n.new_values,
h.seq AS head_seq: i64, h.hash AS head_hash -- the end of the log: with it, one question to a server is enough for a commit

-- name: change_notes_all
SELECT {store_change_note} FROM change_notes n CROSS JOIN change_head h ORDER BY n.id;

-- name: change_notes_clear
DELETE FROM change_notes;

-- row: change_record in core/records/change_record.h of changes c
c.seq: i64, c.at_us, c.user_id, c.username, c.via, c.session_id: i64, c.address, c.route, c.kind, c.object_id, c.action,
c.old_values, c.new_values, c.hash

-- copy: changes from change_record

-- The first and the last record that the log must have. The base is the record before the first one.
-- row: store_change_head of change_head h
h.seq: i64, h.hash, h.base_seq: i64, h.base_hash

-- name: change_head_get
-- function: store_change_head returns row
-- missing: the head of the audit log
SELECT {store_change_head} FROM change_head h;

-- name: change_head_set with seq: i64, hash: text
UPDATE change_head SET seq = $seq, hash = $hash;

-- name: change_head_set_base with seq: i64, hash: text
UPDATE change_head SET base_seq = $seq, base_hash = $hash;

-- The next records after `seq`. An empty text, and the time 0, let every record through.
-- name: changes_after with seq: i64, since_us: i64, until_us: i64, username: text, kind: text, limit: i64
-- function: store_changes_after returns rows
SELECT {change_record} FROM changes c
WHERE c.seq > $seq AND c.at_us >= $since_us AND (CAST($until_us AS INTEGER) = 0 OR c.at_us < $until_us)
  AND (CAST($username AS TEXT) = '' OR c.username = $username) AND (CAST($kind AS TEXT) = '' OR c.kind = $kind)
ORDER BY c.seq LIMIT $limit;

-- The last of the oldest records, at most `limit` of them, that are older than `before_us`.
-- name: changes_last_older with before_us: i64, limit: i64
SELECT {change_record} FROM changes c
WHERE c.seq = (SELECT max(o.seq) FROM (SELECT seq, at_us FROM changes ORDER BY seq LIMIT $limit) o WHERE o.at_us < $before_us);

-- name: changes_delete_up_to with seq: i64
DELETE FROM changes WHERE seq <= $seq;
