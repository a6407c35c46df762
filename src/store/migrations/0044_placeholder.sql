-- A number that another change uses.
SELECT 1;
