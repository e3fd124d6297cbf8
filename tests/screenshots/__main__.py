"""Write ``screenshots/*.svg`` from the demo: ``make screenshots``.

It waits for texts on the screen, never for a time. Times and names differ between runs.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.screenshots.picture import Frame, frame, moving, picture
from tests.terminal.driver import Terminal, Wanted

FOLDER = Path(__file__).parents[2] / "screenshots"
SIZE = (120, 35)
TREES = {  # the rows of each engine's tree that are unfolded
    "eternaltwin": ("ArchiveHammerfestUser v3 - ./5",),
    "estuary": ("not served", "FIBONACCI .* 2h"),
    "tasker": ("shop - ", "fulfil_order v1.0.0 - .* open", "nothing in flight"),
    "uni2work": ("queue - ", "instance .* [0-9]+m", "instance .* unknown", "inconsistent locks", "token buckets - "),
    "agent_jobs": ("Release notes", "Paper reader", "Cafe helper"),
}
VIEWS = {  # the first page on other terminals: size, and variables of its colours
    "60x20": ((60, 20), {}),
    "80x24": ((80, 24), {}),
    "200x50": ((200, 50), {}),
    "256_colors": ((80, 24), {"COLORTERM": "", "TERM": "xterm-256color"}),
    "16_colors": ((80, 24), {"COLORTERM": "", "TERM": "xterm-16color"}),
    "no_colors": ((80, 24), {"NO_COLOR": "1"}),
}
PICTURES = (
    *("dry_run", "stuck", "dag", "dead_letters", "detail", "result", "audit", "undo", "redrive"),
    *(f"tree_{engine}" for engine in TREES),
    *(f"stuck_{view}" for view in VIEWS),
)
MOVING = "story"  # find, dry run, fix, done
READ, GLANCE, KEY = 3.5, 1.5, 0.15  # seconds for which a screen of the moving picture is shown
ROWS, ENGINES = 100, 20  # among which one is looked for
TAKEN = re.compile("Next: [0-9]+ .*done")  # what the engine did with the changed nodes


class Camera:
    """Terminal of which pictures are taken."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.frames: list[tuple[Frame, float]] = []

    def go(self, *keys: str, shows: tuple[Wanted, ...] = (), seconds: float = 0.0) -> None:
        """Press keys and wait.

        The moving picture shows the result for ``seconds``, if any.
        """
        self.terminal.press(*keys).wait_for(*shows).settled()
        if seconds:
            self.frames.append((frame(self.terminal.screen), seconds))

    def write(self, text: str) -> None:
        """Type a text, two characters per screen of the moving picture."""
        for start in range(0, len(text), 2):
            part = text[: start + 2]
            self.terminal.type(part[start:]).wait_for(part.rstrip())
            self.frames.append((frame(self.terminal.screen), KEY))

    def front(self) -> str:
        """Return the engine whose tree is in front."""
        crumb = re.search(r"› (\S+)", self.terminal.text)
        return str(crumb[1]) if crumb else ""

    def is_elsewhere(self, engine: str) -> bool:
        """Return True once another engine's tree is in front."""
        return self.front() not in ("", engine)

    def under(self, text: str) -> None:
        """Put the cursor on the first row with this text."""
        self.terminal.press("home").settled()
        for _ in range(ROWS):
            if re.search(text, self.terminal.under):
                return
            self.terminal.press("down").settled()
        raise AssertionError(f"no row with {text!r}:\n{self.terminal.text}")

    def keep(self, name: str) -> None:
        """Write the screen as it is."""
        assert name in PICTURES
        save(name, picture(frame(self.terminal.settled().screen), f"unstick · {name.replace('_', ' ')}"))


def save(name: str, svg: str) -> None:
    """Write a picture and print its size."""
    path = FOLDER / f"{name}.svg"
    path.write_text(svg)
    print(f"{path.relative_to(FOLDER.parents[1])}  {path.stat().st_size / 1024:.0f} kB", file=sys.stderr)


def story(camera: Camera) -> None:
    """Find stuck tasks, dry-run their repair, apply it, and see that it worked."""
    terminal = camera.terminal
    camera.go(shows=("● live", re.compile(r"\d+ incidents"), lambda: terminal.at > 0), seconds=READ)
    camera.go("/", shows=("words, field:value",), seconds=GLANCE)
    camera.write("lost wakeup")
    camera.go("enter", shows=(re.compile("▌ ▸ ! lost wakeup"), "W Wake"), seconds=GLANCE)
    camera.go("right", shows=("▾ ! lost wakeup",), seconds=GLANCE)
    camera.go("W", shows=("Reason, for the audit log",), seconds=GLANCE)
    camera.write("children are done")
    camera.go("enter", shows=("Rows before and after", "W apply to "), seconds=READ)
    camera.go("enter", shows=("changed task",), seconds=READ)
    camera.keep("dry_run")
    camera.go("W", shows=(" changed", "transaction", TAKEN), seconds=READ)
    camera.keep("result")
    camera.go("enter", shows=(lambda: "Close" not in terminal.text,))
    camera.go("4", shows=("children are done",), seconds=READ)
    camera.keep("audit")


def pages(camera: Camera) -> None:
    """Show the other pages."""
    camera.go("2", "escape", shows=(lambda: "filter:" not in camera.terminal.text, re.compile(r"\d+ incidents")))
    camera.under("overdue timer")
    camera.go("right", "down", shows=("▾ ‼ overdue timer", "W Wake"))
    camera.keep("stuck")
    camera.go("enter", shows=("Why it is stuck", "poll time"))
    camera.keep("detail")
    camera.go("escape", shows=(lambda: "Why it is stuck" not in camera.terminal.text,))
    camera.go("3", shows=(re.compile(r"\d+ dead letters in"), "nightly_report"))
    camera.under("nightly_report")
    camera.go("enter", shows=("Steps  ", "merge_regions", "publish"))
    camera.keep("dag")
    camera.go("escape", shows=("dead letters in",))
    camera.under("▸ . staleness_timeout")
    camera.go("right", shows=("▾ ! staleness_timeout",))
    camera.keep("dead_letters")


def trees(camera: Camera) -> None:
    """Show the tree of each engine, with some rows unfolded."""
    camera.go("1", shows=("› ", " all jobs"))
    for engine, rows in TREES.items():
        for _ in range(ENGINES):
            front = camera.front()
            if front.startswith(engine):
                break
            camera.go(">", shows=(" all jobs", partial(camera.is_elsewhere, front)))
        for row in rows:
            camera.under(row)
            if "▸" in camera.terminal.under:  # it is not unfolded down to a node that needs attention
                camera.go("right", shows=(lambda: "▾" in camera.terminal.under,))
        camera.keep(f"tree_{engine}")


def ways_back(camera: Camera) -> None:
    """Cancel the wrong tasks and take it back; redrive a group of dead letters."""
    terminal = camera.terminal
    camera.go("2", shows=(re.compile(r"\d+ incidents"),))
    camera.under("overdue timer")
    camera.go("C", shows=("Reason, for the audit log",))
    terminal.type("no longer needed")
    camera.go("enter", shows=("Rows before and after", "C apply to "))
    camera.go("C", shows=(" changed", "U undo"))
    camera.go("U", shows=("Reason, for the audit log",))
    terminal.type("these were not the ones")
    camera.go("enter", shows=("Rows before and after", "U apply to "))
    camera.keep("undo")
    camera.go("U", shows=(" changed", "U undo"))
    camera.go("enter", shows=(lambda: "Close" not in terminal.text,))
    camera.go("3", shows=("dead letters in",))
    camera.under("permanently failed . shop/fulfil_order")
    camera.go("S", shows=("Reason, for the audit log",))
    terminal.type("card service is back")
    camera.go("enter", shows=("Rows before and after", "S apply to "))
    camera.go("S", shows=("Cohort ", re.compile(r"│ +1 +1 +1 ")))
    camera.keep("redrive")
    camera.go("escape", shows=(lambda: "Leave open" not in terminal.text,))


@contextlib.contextmanager
def demo(size: tuple[int, int], **variables: str) -> Iterator[Camera]:
    """Start the demo without its guide, at the list of incidents."""
    with (
        tempfile.TemporaryDirectory() as home,
        Terminal("demo", "--all", home=Path(home), size=size, start="stuck", **variables) as terminal,
    ):
        camera = Camera(terminal)
        terminal.wait_for("First repair")
        camera.go("escape", shows=(re.compile(r"\d+ incidents"), lambda: "First repair" not in terminal.text))
        yield camera
        assert terminal.leave("q") == 0


def main() -> None:
    """Start the demo, press the keys, write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with demo(SIZE) as camera:
        story(camera)
        save(MOVING, moving(camera.frames, "unstick · find, dry run, fix, done"))
        trees(camera)
        pages(camera)
        ways_back(camera)
    for view, (size, variables) in VIEWS.items():
        with demo(size, **variables) as camera:
            camera.keep(f"stuck_{view}")


if __name__ == "__main__":
    main()
