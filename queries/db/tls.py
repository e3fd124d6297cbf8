"""TLS by libpq's words: certificates, and names that are verified."""

from __future__ import annotations

import ssl
import stat
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from queries.files import user_dirs

_VERSIONS = {
    "tlsv1": ssl.TLSVersion.TLSv1,
    "tlsv1.1": ssl.TLSVersion.TLSv1_1,
    "tlsv1.2": ssl.TLSVersion.TLSv1_2,
    "tlsv1.3": ssl.TLSVersion.TLSv1_3,
}
SYSTEM = "system"  # the value of sslrootcert for the machine's certificates


class _Context(ssl.SSLContext):
    """TLS context that verifies one name, whatever address is connected.

    None sends no name.
    """

    verified: str | None = None

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        """Begin TLS with the verified name."""
        return super().wrap_bio(*arguments, **{**named, "server_hostname": self.verified})


def mode(words: Mapping[str, str]) -> str:
    """Return the sslmode. Raises ValueError if another word asks for more."""
    system = words.get("sslrootcert") == SYSTEM
    chosen = words.get("sslmode", "verify-full" if system else "prefer")
    if system and chosen != "verify-full":
        raise ValueError(f"sslmode={chosen} is too weak for sslrootcert=system: use verify-full.")
    if words.get("sslnegotiation") == "direct" and chosen in ("disable", "allow", "prefer"):
        raise ValueError(f"sslmode={chosen} is too weak for sslnegotiation=direct: use require or verify-full.")
    if _verifies_name(chosen) and not _sends_name(words):
        raise ValueError("sslsni=0 cannot be obeyed with sslmode=verify-full: remove one of them.")
    low, high = (words.get(f"ssl_{end}_protocol_version", "").lower() for end in ("min", "max"))
    if high and _VERSIONS[high] < _VERSIONS[low or "tlsv1.2"]:
        raise ValueError("ssl_max_protocol_version is below ssl_min_protocol_version, which is TLSv1.2 if not given.")
    return chosen


def context(words: Mapping[str, str], host: str) -> ssl.SSLContext:
    """Return the context for a host of this name.

    Raises ValueError that names the file that cannot be used.
    """
    chosen = mode(words)
    if _verifies_name(chosen) and not host:
        raise ValueError("sslmode=verify-full needs the name of the server: write host=... beside hostaddr.")
    made = _Context(ssl.PROTOCOL_TLS_CLIENT)
    made.verified = host if host and _sends_name(words) else None
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.set_alpn_protocols(["postgresql"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of versions before TLSv1.2
        made.minimum_version = _VERSIONS[(words.get("ssl_min_protocol_version") or "TLSv1.2").lower()]
        if words.get("ssl_max_protocol_version"):
            made.maximum_version = _VERSIONS[words["ssl_max_protocol_version"].lower()]
    if _load_roots(made, words):
        made.verify_mode = ssl.CERT_REQUIRED
        _load_revoked(made, words)
    elif chosen.startswith("verify"):
        raise ValueError(
            f"sslmode={chosen} needs a root certificate, and there is no file {_default('root.crt') or 'root.crt'}:"
            " name one with sslrootcert, or use sslrootcert=system."
        )
    made.check_hostname = _verifies_name(chosen)
    if words.get("sslcertmode") != "disable":
        _load_own(made, words)
    return made


def _verifies_name(chosen: str) -> bool:
    return chosen == "verify-full"


def _sends_name(words: Mapping[str, str]) -> bool:
    return words.get("sslsni", "1").startswith("1")


def _load_roots(made: ssl.SSLContext, words: Mapping[str, str]) -> bool:
    root = words.get("sslrootcert")
    if root == SYSTEM:
        made.set_default_verify_paths()
        return True
    file = Path(root) if root else _default("root.crt")
    if file is None or (not root and not _exists(file)):
        return False
    try:
        made.load_verify_locations(cafile=file)
    except OSError as error:
        raise _unusable("root certificate file", file, error) from None
    return True


def _load_revoked(made: ssl.SSLContext, words: Mapping[str, str]) -> None:
    """Load revoked certificates.

    libpq ignores a file that is absent; here one that is named must exist.
    """
    file, folder = words.get("sslcrl"), words.get("sslcrldir")
    default = _default("root.crl")
    if not file and not folder and default is not None and _exists(default):
        file = str(default)
    if folder and not Path(folder).is_dir():
        raise ValueError(f"The folder {folder} of revoked certificates (sslcrldir) does not exist.")
    if file or folder:
        try:
            made.load_verify_locations(cafile=file or None, capath=folder or None)
        except OSError as error:
            raise _unusable("file of revoked certificates", Path(file or folder or ""), error) from None
        made.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN


def _load_own(made: ssl.SSLContext, words: Mapping[str, str]) -> None:
    """Load the client's certificate and key, if the certificate exists."""
    certificate = Path(words["sslcert"]) if words.get("sslcert") else _default("postgresql.crt")
    if certificate is None or not _exists(certificate):
        return
    key = Path(words["sslkey"]) if words.get("sslkey") else _default("postgresql.key")
    if words.get("sslkey") and ":" in words["sslkey"]:
        raise ValueError("sslkey names a key of an engine, which unstick does not support: name a file.")
    try:
        status = key.stat() if key else None
    except OSError as error:
        raise ValueError(f"The private key file {key} cannot be read: {(error.strerror or '').lower()}.") from None
    if key is None or status is None:
        raise ValueError(f"The certificate {certificate} has no private key file: name it with sslkey.")
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"The private key file {key} is not a plain file.")
    forbidden = (stat.S_IWGRP | stat.S_IXGRP if status.st_uid == 0 else stat.S_IRWXG) | stat.S_IRWXO
    if status.st_mode & forbidden:
        raise ValueError(f"The private key file {key} may be used by others: chmod 600 {key}.")
    secret = words.get("sslpassword") or ""
    try:
        made.load_cert_chain(certificate, key, password=lambda: secret)
    except OSError as error:
        raise _unusable_key(certificate, key, error, secret) from None


def _unusable_key(certificate: Path, key: Path, error: OSError, secret: str) -> ValueError:
    if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
        return ValueError(f"The private key file {key} does not belong to the certificate {certificate}.")
    for file in (certificate, key):
        try:
            text = file.read_bytes()
        except OSError as unreadable:
            return _unusable("file", file, unreadable)
        if b"-----BEGIN" not in text:
            return ValueError(f"The file {file} cannot be used: it is not in PEM format.")
    if b"ENCRYPTED" in text:
        why = "sslpassword does not open it" if secret else "give its password with sslpassword"
        return ValueError(f"The private key file {key} is encrypted: {why}.")
    return ValueError(f"The certificate {certificate} or its private key file {key} cannot be used: it is damaged.")


def _unusable(what: str, file: Path, error: OSError) -> ValueError:
    damaged = isinstance(error, ssl.SSLError) or not error.strerror
    why = "it holds no certificates in PEM format" if damaged else str(error.strerror).lower()
    return ValueError(f"The {what} {file} cannot be used: {why}.")


def _default(name: str) -> Path | None:
    folder = user_dirs.named_home()
    return folder / ".postgresql" / name if folder else None


def _exists(file: Path) -> bool:
    """Return True if there is a file. Raises ValueError if that cannot be known."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ValueError(f"The file {file} cannot be read: {(error.strerror or '').lower()}.") from None
    return True
