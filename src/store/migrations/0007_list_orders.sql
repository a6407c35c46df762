-- One index for each order that the list of experiments has: a page is then read along it, however many there are.
-- Filters walk: counting 100,000 rows from front to back is cheaper than looking many of them up one by one.

DROP INDEX experiments_by_archived;
DROP INDEX experiments_by_user;
-- for experiments_count: all that filters look at, but the description, side by side. PostgreSQL bounds the length of what
-- an index holds, and is quicker through the table anyway.
-- for experiments_ids
-- sqlite: CREATE INDEX experiments_by_filters ON experiments (archived, state, user_id, project_id, labels, name);
-- for experiments_ids
-- postgres: CREATE INDEX experiments_by_filters ON experiments (archived, state, user_id, project_id);
-- for experiment_sort_description
CREATE INDEX experiments_by_description ON experiments ((substr(description, 1, 200)), id);
-- for experiment_sort_start
CREATE INDEX experiments_by_start ON experiments (start_us, id);
-- for experiment_sort_end
CREATE INDEX experiments_by_end ON experiments (end_us, id);
-- for experiment_sort_state
CREATE INDEX experiments_by_state ON experiments (state, id);
-- for experiment_sort_num_trials
CREATE INDEX experiments_by_num_trials ON experiments (num_trials, id);
-- for experiment_sort_progress
CREATE INDEX experiments_by_progress ON experiments ((coalesce(progress, 0)), id);
-- for experiment_sort_name
CREATE INDEX experiments_by_name ON experiments ((substr(name, 1, 200)), id);
-- for experiment_sort_parent
CREATE INDEX experiments_by_parent ON experiments (parent_id, id);
-- for experiment_sort_pool
CREATE INDEX experiments_by_pool ON experiments (resource_pool, id);
-- for experiment_sort_checkpoint_size
CREATE INDEX experiments_by_checkpoint_size ON experiments (checkpoint_size, id);
-- for experiment_sort_checkpoint_count
CREATE INDEX experiments_by_checkpoint_count ON experiments (checkpoint_count, id);
-- for experiment_sort_metric
CREATE INDEX experiments_by_metric ON experiments (best_metric, id);
-- for experiment_sort_project
CREATE INDEX experiments_by_project_id ON experiments (project_id, id);
-- for experiments_page_by_user
CREATE INDEX experiments_by_user_id ON experiments (user_id, id);
-- for experiments_page_by_user
CREATE INDEX users_by_shown_name ON users ((coalesce(display_name, username)), id);
-- SQLite reads an index backwards with its missing values at the end; PostgreSQL needs one more for that order.
-- for experiment_sort_end_desc
-- postgres: CREATE INDEX experiments_by_end_nulls_last ON experiments (end_us DESC NULLS LAST, id DESC);
-- for experiment_sort_parent_desc
-- postgres: CREATE INDEX experiments_by_parent_nulls_last ON experiments (parent_id DESC NULLS LAST, id DESC);
-- for experiment_sort_metric_desc
-- postgres: CREATE INDEX experiments_by_metric_nulls_last ON experiments (best_metric DESC NULLS LAST, id DESC);
