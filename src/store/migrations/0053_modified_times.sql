-- The address that a task has told for its ports (PostAllocationProxyAddress).
ALTER TABLE allocations ADD COLUMN proxy_address TEXT;

-- When a workspace or project was last changed: whoever changes one can say which version they have read.
ALTER TABLE workspaces ADD COLUMN modified_us INTEGER NOT NULL DEFAULT 0;
UPDATE workspaces SET modified_us = created_us;
ALTER TABLE projects ADD COLUMN modified_us INTEGER NOT NULL DEFAULT 0;
UPDATE projects SET modified_us = created_us;

-- When the images of all containers of an allocation were there; 0 in usage: it is not known.
ALTER TABLE allocations ADD COLUMN pulled_us INTEGER;
ALTER TABLE usage ADD COLUMN pulled_us INTEGER NOT NULL DEFAULT 0;
