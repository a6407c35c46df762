-- Jobs that an access token without the scope ALL has submitted. The logins that their tasks have on behalf of their owner
-- (DET_USER_TOKEN) may do no more than that token.
CREATE TABLE limited_jobs (
    job_id TEXT PRIMARY KEY,
    scope TEXT NOT NULL CHECK (scope IN ('READ', 'SUBMIT'))
) STRICT;
