-- Grants of one command text, tied to the scripts that it runs.
ALTER TABLE grants DROP CONSTRAINT grants_kind_check;
ALTER TABLE grants ADD CONSTRAINT grants_kind_check
    CHECK (kind IN ('name', 'prefix', 'path', 'exact'));
ALTER TABLE grants ADD COLUMN ties_digest TEXT; -- of what an exact command runs, and where it leads
