-- What each container of an allocation asks for beside slots: thousandths of a core, and bytes of memory; 0: nothing. A launched
-- task has its own, because it may have several allocations.
ALTER TABLE allocations ADD COLUMN millicores INTEGER NOT NULL DEFAULT 0;
ALTER TABLE allocations ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launched_tasks ADD COLUMN millicores INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launched_tasks ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;
