"""What the settings say of a server, by whatever name it was opened."""

from queries.records.record import Record


class ContextRules(Record):
    """Other contexts that name the opened server, by their rule; "" if none has it."""

    production: str = ""
    read_only: str = ""
