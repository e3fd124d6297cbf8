"""What the operator sees and types. Contains no SQL: everything it knows of a database comes from ``queries``."""
