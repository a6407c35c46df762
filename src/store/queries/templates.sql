-- row: store_template of templates t
t.name,   -- unique in the cluster
t.config, -- JSON object
t.workspace_id,
t.user_id -- who has made it, and owns it (store/owners.h); 0: nobody

-- name: templates_insert
INSERT INTO {insert store_template};

-- name: templates_set_config
UPDATE templates SET config = $2 WHERE name = $1;

-- name: templates_rename
UPDATE templates SET name = $2 WHERE name = $1;

-- name: templates_delete
DELETE FROM templates WHERE name = $1;

-- name: templates_by_name with name: text
-- function: store_template_get returns row
-- missing: template '$name'
SELECT {store_template} FROM templates t WHERE t.name = $name;

-- fragment: templates_count
SELECT count(*) FROM templates WHERE 1 = 1

-- fragment: templates_rows
SELECT {store_template} FROM templates t WHERE 1 = 1

-- fragment: templates_filter_name
-- sqlite: AND instr(lower(name), lower($1)) > 0
-- postgres: AND strpos(lower(name), lower($1)) > 0

-- fragment: templates_filter_workspaces
-- sqlite: AND workspace_id IN (SELECT value FROM json_each($1))
-- postgres: AND workspace_id IN (SELECT json_array_elements_text($1::json)::bigint)

-- fragment: templates_sort_name
ORDER BY name
-- fragment: templates_sort_name_desc
ORDER BY name DESC
