"""Check of ``require_auth`` before the driver answers the server.

The meaning is that of libpq 18. The driver answers whatever the server asks for, so the check looks at the server's
messages first.
"""

from __future__ import annotations

import struct

from queries.db.errors import DatabaseError

METHODS = ("password", "md5", "gss", "sspi", "scram-sha-256", "oauth", "none")
_MESSAGE_BYTES = 30_000  # bytes of a message before the login is done, as in libpq

_DONE, _PASSWORD, _MD5, _GSS, _GSS_STEP, _SSPI, _SASL, _SASL_STEP, _SASL_END = 0, 3, 5, 7, 8, 9, 10, 11, 12
_ALLOWED_BY = {
    _PASSWORD: {"password"},
    _MD5: {"md5"},
    _GSS: {"gss"},
    _SSPI: {"sspi"},
    _GSS_STEP: {"gss", "sspi"},
    _SASL: {"scram-sha-256"},
    _SASL_STEP: {"scram-sha-256"},
    _SASL_END: {"scram-sha-256"},
}
_COMPLETE = frozenset({_PASSWORD, _MD5, _GSS_STEP, _SASL_END})  # after it, only the server's verdict is open
_ASKED = {
    _PASSWORD: "the password in clear text",
    _MD5: "an MD5 hash of the password",
    **dict.fromkeys((_GSS, _GSS_STEP), "GSSAPI"),
    _SSPI: "SSPI",
    **dict.fromkeys((_SASL, _SASL_STEP, _SASL_END), "SCRAM"),
}


def allowed(value: str) -> frozenset[str]:
    """Return the methods that a value of require_auth allows. Raises ValueError."""
    words = value.split(",")
    negated = [word.startswith("!") for word in words]
    methods = [word.removeprefix("!") for word in words]
    if any(negated) != all(negated) or len({*methods}) < len(methods) or not {*methods} <= {*METHODS}:
        raise ValueError(f"must be a list of {', '.join(METHODS)}, each once; or with ! before each of the list")
    return frozenset(METHODS).difference(methods) if all(negated) else frozenset(methods)


class LoginGuard:
    """Check of the server's messages, until the session is ready."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._allowed = allowed(value)
        self._complete = False
        self._held = b""
        self.ready = False
        self.refusal: DatabaseError | None = None

    def admit(self, data: bytes) -> bytes:
        """Return the whole messages that the driver may read; b"" once there is a refusal."""
        self._held += data
        end = 0
        while not self.ready and len(self._held) >= end + 5:
            kind, length = self._held[end : end + 1], struct.unpack_from("!I", self._held, end + 1)[0]
            if not 4 <= length <= _MESSAGE_BYTES or (kind == b"R" and length < 8):
                return self._refuse("the server sent a message that is none of a login")
            if len(self._held) <= end + length:
                break
            if kind == b"R" and (why := self._fault(struct.unpack_from("!I", self._held, end + 5)[0])):
                return self._refuse(why)
            self.ready = kind == b"Z"
            end += 1 + length
        end = len(self._held) if self.ready else end
        admitted, self._held = self._held[:end], self._held[end:]
        return admitted

    def _fault(self, request: int) -> str:
        if request == _DONE:
            finished = self._complete or "none" in self._allowed
            return "" if finished else "the server did not complete a login"
        if not self._allowed & _ALLOWED_BY.get(request, set()):
            return f"the server asks for {_ASKED.get(request, 'another way to log in')}"
        self._complete |= request in _COMPLETE
        return ""

    def _refuse(self, why: str) -> bytes:
        self.refusal = DatabaseError(
            f"require_auth={self._value} is not met: {why}. The connection was closed.",
            "Check that it is the right server, then its pg_hba.conf, or change require_auth.",
        )
        return b""
