-- name: jobs_put from store_experiment
INSERT INTO jobs (id, type, user_id, resource_pool, position, submitted_us)
VALUES ($job_id, 'EXPERIMENT', $user_id, $resource_pool, $queue_position, $start_us)
ON CONFLICT (id) DO UPDATE SET user_id = excluded.user_id, resource_pool = excluded.resource_pool,
    position = excluded.position, priority = NULL, weight = NULL;

-- name: jobs_set_position from experiment_row
UPDATE jobs SET position = $queue_position WHERE id = $job_id AND position <> $queue_position;

-- name: jobs_set_pool_of_experiment
UPDATE jobs SET resource_pool = $2 WHERE id = (SELECT job_id FROM experiments WHERE id = $1) AND resource_pool <> $2;

