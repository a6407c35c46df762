-- The migration of this number is made elsewhere.
SELECT 1;
