-- The address that a task has told for its ports (PostAllocationProxyAddress).
ALTER TABLE allocations ADD COLUMN proxy_address TEXT;
