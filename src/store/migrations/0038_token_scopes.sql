-- What an access token may be used for; logins and sessions of tasks have ALL, except those of tasks that such a token has submitted.
ALTER TABLE sessions ADD COLUMN scope TEXT NOT NULL DEFAULT 'ALL' CHECK (scope IN ('READ', 'SUBMIT', 'ALL'));
