-- Statistics and the visibility map, as a server at work has them.
VACUUM (ANALYZE)
