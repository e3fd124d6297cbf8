"""Messages of a login, however they are split."""

from __future__ import annotations

import struct

import pytest

from queries.db.login_methods import LoginGuard

READY = b"Z\0\0\0\x05I"
STATUS = b"S\0\0\0\x08a\0b\0"


def request(code: int, rest: bytes = b"") -> bytes:
    return b"R" + struct.pack("!II", 8 + len(rest), code) + rest


SCRAM = [request(10, b"SCRAM-SHA-256\0\0"), request(11, b"r=x"), request(12, b"v=x")]
OK = request(0)


@pytest.mark.parametrize("size", [1, 2, 5, 9, 1000])
def test_a_login_may_come_in_any_chunks(size: int) -> None:
    guard, stream, read = LoginGuard("scram-sha-256"), b"".join([*SCRAM, OK, STATUS, READY, b"later"]), b""
    for at in range(0, len(stream), size):
        chunk = stream[at : at + size]
        read += chunk if guard.ready else guard.admit(chunk)
    assert (read, guard.ready, guard.refusal) == (stream, True, None)


@pytest.mark.parametrize("size", [1, 2, 5, 9, 1000])
@pytest.mark.parametrize(
    ("value", "messages", "said"),
    [
        ("scram-sha-256", [request(3)], "the password in clear text"),
        ("scram-sha-256", [STATUS, request(5, b"salt")], "an MD5 hash"),
        ("scram-sha-256", [OK], "did not complete"),
        ("scram-sha-256", [*SCRAM[:2], OK], "did not complete"),
        ("scram-sha-256,none", [OK, STATUS, request(3)], "the password in clear text"),
        ("!password", [b"E\0\0\0\x05\0", request(3)], "the password in clear text"),
        ("!password", [request(99)], "another way to log in"),
        ("!gss", [request(7)], "GSSAPI"),
        ("gss", [request(7), OK], "did not complete"),
        ("!md5", [b"R\0\0\0\x04"], "none of a login"),
        ("!md5", [b"S\xff\xff\xff\xff"], "none of a login"),
    ],
)
def test_what_is_not_allowed_is_not_admitted(size: int, value: str, messages: list[bytes], said: str) -> None:
    guard, stream, read = LoginGuard(value), b"".join(messages), b""
    for at in range(0, len(stream), size):
        if guard.refusal is None:
            read += guard.admit(stream[at : at + size])
    assert messages[-1] not in read
    assert said in str(guard.refusal)
