-- for environments_forget
CREATE INDEX allocation_environments_by_host ON allocation_environments (host_id);
-- for environments_forget
CREATE INDEX allocation_environments_by_python ON allocation_environments (python_id);
