-- oldest: 0001: only an index is another
-- Series over time are summed without the rows, too. The old index goes last: whoever reads the access log would wait for the new one otherwise.
--
-- the list of one action, counted without the rows; its series over time
CREATE INDEX access_log_series ON access_log (action, created_at, id, status, count, bytes);
DROP INDEX access_log_action;
