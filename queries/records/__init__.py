"""The project's vocabulary as frozen records. No I/O.

Times are seconds since 1970-01-01 UTC by the *server's* clock (float; ``inf`` and ``-inf`` are PostgreSQL's
``infinity`` and ``-infinity``). Durations are seconds. ``None`` means that the engine does not record the value, or
that it cannot be read cheaply; it is never shown as 0. JSON output uses these field names.
"""
