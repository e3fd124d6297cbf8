-- The server's clock at the beginning of the transaction.
SELECT extract(epoch FROM now())::float8 AS now
