-- Why an experiment ended in ERROR, in words for people; NULL: it did not, or it ended before this was kept.
ALTER TABLE experiments ADD COLUMN failure TEXT;
