-- Configuration templates, by name.

-- row: store_template of templates t
t.name,   -- unique in the cluster
t.config, -- JSON object
t.workspace_id,
t.user_id -- the user who made the template and owns it (store/accounts/owners.h); 0: nobody

-- name: templates_insert
-- function: store_template_insert
-- conflict: template '$name' already exists
-- unknown: workspace $workspace_id does not exist
INSERT INTO {insert store_template};

-- name: templates_set_config with name: text, config: text
-- function: store_template_set_config
-- missing: template '$name'
UPDATE templates SET config = $config WHERE name = $name;

-- name: templates_rename with name: text, to: text
-- function: store_template_rename
-- missing: template '$name'
-- conflict: template '$to' already exists
UPDATE templates SET name = $to WHERE name = $name;

-- name: templates_delete with name: text
-- function: store_template_delete
-- missing: template '$name'
DELETE FROM templates WHERE name = $name;

-- name: templates_by_name with name: text
-- function: store_template_get returns row
-- missing: template '$name'
SELECT {store_template} FROM templates t WHERE t.name = $name;

-- fragment: templates_count
SELECT count(*) FROM templates WHERE 1 = 1

-- fragment: templates_rows
SELECT {store_template} FROM templates t WHERE 1 = 1

-- The name contains the text, without regard to case.
-- fragment: templates_filter_name with name: text
-- sqlite: AND instr(lower(name), lower($name)) > 0
-- postgres: AND strpos(lower(name), lower($name)) > 0

-- fragment: templates_filter_workspaces with workspace_ids: ints
-- sqlite: AND workspace_id IN (SELECT value FROM json_each($workspace_ids))
-- postgres: AND workspace_id IN (SELECT json_array_elements_text($workspace_ids::json)::bigint)

-- The workspaces that the one who asks may see; none: all of them.
-- fragment: templates_filter_visible with visible: ints
-- sqlite: AND workspace_id IN (SELECT value FROM json_each($visible))
-- postgres: AND workspace_id IN (SELECT json_array_elements_text($visible::json)::bigint)

-- Sorted by name.
-- list: store_template_list of templates in query pages
-- sort: 0 name
