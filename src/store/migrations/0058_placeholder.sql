-- Holds the number of a migration of another branch.
SELECT 1;
