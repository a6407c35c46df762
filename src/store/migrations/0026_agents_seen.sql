-- Nothing ever wrote when an agent was last seen: one that is away is known to be so, and nobody asked.
ALTER TABLE agents DROP COLUMN last_seen_us;
