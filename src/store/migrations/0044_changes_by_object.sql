-- for update_projects, update_models, update_versions: the last change of an object
CREATE INDEX changes_by_object ON changes (kind, object_id, seq);
