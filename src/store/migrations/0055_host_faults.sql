-- The last failures of tasks on an agent for which its host is to blame: [[time, TASK_ID], …]. Three within an hour keep new
-- tasks from the agent.
ALTER TABLE agents ADD COLUMN host_faults TEXT NOT NULL DEFAULT '[]';
