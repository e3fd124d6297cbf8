"""News of a session, each said once. UI-free."""

from __future__ import annotations

from console.model.session import ConnectionState, Session
from queries.records.finding import Incident


class Announcements:
    """State of one session as last announced, and what is new since."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._said = session.link, ""
        self._seen: set[str] | None = None  # keys of the incidents that are not new; None before the first read

    def message(self, *, noticed: bool) -> tuple[str, str]:
        """Return what is new, or "", and its tone. ``noticed``: a notice can be shown."""
        session = self._session
        before, self._said = self._said, (session.link, session.error_text)
        if session.notice and noticed:
            notice, session.notice = session.notice, ""
            return notice, "warn"
        if (before[0], session.link) == (ConnectionState.LOST, ConnectionState.LIVE):
            return "Connected again.", "good"
        return (session.error_text, "bad") if self._said != before else ("", "")

    def new_incidents(self) -> list[Incident]:
        """Return the incidents that were not there in the last 15 minutes."""
        state, seen = self._session.state, self._seen
        if not state.findings_loaded:
            return []
        self._seen = {each.key for each in state.shown.incidents} | set(state.incident_history.resolved)
        return [] if seen is None else [each for each in state.shown.incidents if each.key not in seen]
