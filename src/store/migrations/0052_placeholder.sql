-- Takes the place of a migration of another branch.
SELECT 1;
