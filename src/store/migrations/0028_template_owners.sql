-- Who may change a template: whoever made it, and admins. Of those that are there already nobody knows who did.
ALTER TABLE templates ADD COLUMN user_id INTEGER;
