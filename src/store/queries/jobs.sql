-- name: jobs_put
INSERT INTO jobs (id, type, user_id, resource_pool, position, priority, weight, submitted_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET user_id = excluded.user_id, resource_pool = excluded.resource_pool,
    position = excluded.position, priority = excluded.priority, weight = excluded.weight;

-- name: jobs_set_position
UPDATE jobs SET position = $2 WHERE id = $1 AND position <> $2;

-- name: jobs_set_pool_of_experiment
UPDATE jobs SET resource_pool = $2 WHERE id = (SELECT job_id FROM experiments WHERE id = $1) AND resource_pool <> $2;

