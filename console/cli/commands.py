"""The commands and their options, as click has them. Each imports what it needs when it runs: starting is fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from console.cli.options import CliOptions
from queries.suggest import suggest

EXAMPLES = """\b
Examples:
  unstick demo                           look at it first, on a PostgreSQL of its own
  unstick                                open the console on the database psql would open
  unstick mydb                           ... on a database by its name
  unstick postgresql://ops@db1/app       ... by a URI, or by "host=db1 dbname=app"
  unstick @prod                          ... by its name in the settings
  unstick @prod stuck                    what is stuck there, and why
  unstick do wake ID --reason "missed"   dry-run, show, ask, wake
"""
JSON = """JSON has the fields of the project's queries/model.py: times are seconds since 1970 UTC by the server's clock
("infinity" where it says so), durations are seconds, stored bytes are base64, null is "not recorded"."""
CODES = """Exit codes: 0 all changed, or nothing was asked for; 1 no connection, or it failed; 2 usage or settings;
3 some or all nodes dropped out; 5 the outcome is unknown."""


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep an option's value, whether it stood before the command or after it."""
    for each in value if isinstance(value, tuple) else (value,):
        context.ensure_object(CliOptions).choose(str(option.name), each)


def _shared(*, main: bool) -> list[click.Parameter]:
    """The options that may stand before or after the command, where help shows only the first two."""
    few: dict[str, Any] = {"callback": _keep, "expose_value": False}
    rest = {**few, "hidden": not main}
    return [
        click.Option(
            ["-d", "--dsn"], metavar="DSN", multiple=True, help="What to connect to, as psql takes it.", **few
        ),
        click.Option(["--json"], is_flag=True, default=None, help="JSON instead of text.", **few),
        click.Option(["--config"], metavar="FILE", help="A settings file other than the usual.", **rest),
        click.Option(["--schema"], metavar="NAME", help="Where several schemas hold one engine, use this one.", **rest),
        click.Option(
            ["--trust"], metavar="ROLE", multiple=True, help="Read what this role owns; its code may run.", **rest
        ),
        click.Option(["--read-only"], is_flag=True, default=None, help="Change nothing, whatever is typed.", **rest),
        click.Option(
            ["--override-read-only"],
            is_flag=True,
            default=None,
            help="Allow changes although default_transaction_read_only is on there.",
            **rest,
        ),
        click.Option(["--ascii"], is_flag=True, default=None, help="No characters beyond ASCII.", **rest),
        click.Option(["--interval"], metavar="SECONDS", help="How often the console looks.", **rest),
    ]


class Command(click.Command):
    """A command that takes the shared options too."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += _shared(main=False)


class Root(click.Group):
    """``unstick``. Its first word may be a database or context instead of a command."""

    command_class = Command

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params[:0] = _shared(main=True)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = self._first_word(args)
        if at < len(args) and args[at] not in self.commands:
            self._no_typo(args[at], ctx)
            args = [*args[:at], f"--dsn={args[at]}", *args[at + 1 :]]
            after = self._first_word(args)
            if after < len(args) and args[after] not in self.commands:
                raise click.UsageError(f"{args[after]!r} is not a command{self._near(args[after])}.", ctx)
        return super().parse_args(ctx, args)

    def _first_word(self, args: Sequence[str]) -> int:
        """Where the first word stands that belongs to no option."""
        valued = {name for p in self.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts}
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            at += 2 if args[at] in valued else 1
        return at

    def _no_typo(self, word: str, context: click.Context) -> None:
        """A word that is nearly a command is hardly a database; those that are can be named with -d."""
        if word == "--":
            return
        near = suggest(word, self.commands, cutoff=0.75)
        if near:
            raise click.UsageError(f"Did you mean the command {near}? (A database of that name: -d {word})", context)

    def _near(self, word: str) -> str:
        near = suggest(word, self.commands)
        return f"; did you mean {near}?" if near else f" (there are {', '.join(self.commands)})"


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from console.cli.program import version

        click.echo(f"unstick {version() or '(not installed)'}")
        context.exit()


@click.group(
    cls=Root,
    invoke_without_command=True,
    epilog=f"{EXAMPLES}\n{JSON}\n\n{CODES}",
    subcommand_metavar="[TARGET] [COMMAND]",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@click.pass_context
def unstick(context: click.Context) -> int | None:
    """See what is stuck in task engines that keep their work in PostgreSQL, and why; repair it with dry-run
    transactions.

    TARGET is what psql takes (the name of a database, a URI, key=value words; without it, the libpq environment) or
    @NAME, a context of the settings. Without a COMMAND the console opens.
    """
    if context.invoked_subcommand is not None:
        return None
    from console.cli.screen import open_console

    return open_console(context.ensure_object(CliOptions))


def _words(name: str, **settings: Any) -> Callable[[Any], Any]:
    return click.argument(name, nargs=-1, **settings)


@unstick.command()
@_words("target")
@click.pass_obj
def engines(choices: CliOptions, /, target: tuple[str, ...]) -> int:
    """Which task engines live in the database, their counts by phase, and what can be done to them."""
    from console.cli import stuck as look

    choices.only_target(target)
    return choices.run(look.engines)


@unstick.command()
@_words("filter")
@click.option("--engine", help="Only this engine.")
@click.option("--depth", type=click.IntRange(1), default=2, show_default=True, help="How many levels.")
@click.option(
    "--limit", type=click.IntRange(1), default=100, show_default=True, help="Nodes at the top, and below each, at most."
)
@click.option("--live", is_flag=True, help="A flat list of everything unfinished, most urgent first.")
@click.option("--asked", is_flag=True, help="Read also what scans a large table.")
@click.pass_obj
def tree(choices: CliOptions, /, filter: tuple[str, ...], **options: Any) -> int:
    """Jobs and tasks as a tree. FILTER: words and field:value, as after / in the console (phase:blocked age:>2h)."""
    from console.cli import tree as command

    words = choices.without_target(filter)
    return choices.run(lambda target: command.tree(target, " ".join(words), **options))


@unstick.command()
@_words("target")
@click.option("--engine", help="Only this engine.")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="Of each finding, at most.")
@click.option("--watch", type=click.FloatRange(0), metavar="SECONDS", help="Look for so long: some findings need it.")
@click.pass_obj
def stuck(choices: CliOptions, /, target: tuple[str, ...], **options: Any) -> int:
    """What is stuck, worst first: the reason, since when, and the action that helps."""
    from console.cli import stuck as look

    choices.only_target(target)
    return choices.run(lambda chosen: look.stuck(chosen, **options))


@unstick.command()
@_words("target")
@click.option("--engine", help="Only this engine.")
@click.option(
    "--limit", type=click.IntRange(1), default=500, show_default=True, help="Dead letters an engine, at most."
)
@click.pass_obj
def dead(choices: CliOptions, /, target: tuple[str, ...], **options: Any) -> int:
    """Dead letters: what an engine has given up on, grouped by what it died of, and what has become of it since."""
    from console.cli import dead as command

    choices.only_target(target)
    return choices.run(lambda chosen: command.dead(chosen, **options))


@unstick.command()
@_words("id", required=True)
@click.option(
    "--size", type=click.IntRange(0), metavar="BYTES", default=65536, help="Of a stored value. [default: 64 kB]"
)
@click.pass_obj
def show(choices: CliOptions, /, id: tuple[str, ...], size: int) -> int:
    """One node whole: why it is stuck, its columns, timers, stored values, and what can be done to it."""
    from console.cli import show as command

    (node,) = choices.exactly(1, "ID", id)
    return choices.run(lambda target: command.show(target, node, size))


@unstick.command()
@click.argument("action", required=False)
@_words("id")
@click.option("-r", "--reason", metavar="TEXT", help="Why; it goes into the audit log. Required.")
@click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE", help="Something the action asks for.")
@click.option(
    "--guard",
    "guards",
    multiple=True,
    metavar="TOKEN",
    help="What must still be so, as stuck prints it; one for each ID. [default: nothing has changed]",
)
@click.option("-n", "--dry-run", "preview", is_flag=True, help="Dry-run only: the real SQL, rolled back.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask. Needed where there is no terminal.")
@click.option(
    "--wait",
    type=click.FloatRange(0, 3600),
    metavar="SECONDS",
    default=0.0,
    help="Wait so long for nodes that an executor has at the moment, and act when they are free. Ctrl-C stops.",
)
@click.option("--confirm", metavar="NAME", help="Like --yes, for what destroys on a production context: its name.")
@click.option("--resume", metavar="BULK", help="Continue a bulk that was not finished, instead of ACTION and ID.")
@click.option("--discard", metavar="BULK", help="Forget a bulk that was not finished.")
@click.pass_obj
def do(
    choices: CliOptions,
    /,
    action: str | None,
    id: tuple[str, ...],
    resume: str | None,
    discard: str | None,
    reason: str | None,
    arguments: tuple[str, ...],
    guards: tuple[str, ...],
    **options: Any,
) -> int:
    """Dry-run a ACTION on the nodes ID..., show which rows it changes, ask, and commit it."""
    from console.cli import do as command

    if resume is not None or discard is not None:
        words = [word for word in (action, *id) if word is not None]
        given = choices.without_target(words) or reason is not None or arguments or guards or options.pop("wait")
        if given or None not in (resume, discard):
            raise click.UsageError(
                "--resume and --discard take a bulk alone: action, nodes and reason are in its list."
            )
        if discard is not None:
            return choices.run(lambda target: command.discard(target, discard))
        return choices.run(lambda target: command.resume(target, str(resume), **options))
    nodes = choices.without_target(id)
    if action is None or not nodes:
        raise click.UsageError("A ACTION and the ID of a node are wanted, or --resume with the id of a bulk.")
    options |= {"reason": reason, "arguments": arguments, "guards": guards}
    return choices.run(lambda target: command.do(target, action, nodes, **options))


@unstick.command()
@_words("id")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Entries, at most.")
@click.option("--after", metavar="CURSOR", help="Go on after this entry.")
@click.pass_obj
def audit(choices: CliOptions, /, id: tuple[str, ...], **options: Any) -> int:
    """Who changed what, when and why, newest first; with ID, what was done to that node, rows and all."""
    from console.cli import audit as command

    node = next(iter(choices.exactly(None, "ID", id)), None)
    return choices.run(lambda target: command.audit_log(target, node, **options))


@unstick.command()
@_words("target")
@click.option("--sql", is_flag=True, help="Only print the statements.")
@click.option(
    "--operator", "operators", multiple=True, metavar="ROLE", help="A role that may add entries and read them."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask. Needed where there is no terminal.")
@click.pass_obj
def init(choices: CliOptions, /, target: tuple[str, ...], **options: Any) -> int:
    """Create the audit log, the table unstick.audit_log. Shows the statements and asks first."""
    from console.cli import init as command

    choices.only_target(target)
    return choices.run(lambda chosen: command.init(chosen, **options))


@unstick.command()
@_words("target")
@click.option("--viewer", "viewers", metavar="ROLE", multiple=True, help="A role that may look.")
@click.option("--operator", "operators", metavar="ROLE", multiple=True, help="A role that may change things too.")
@click.option("--engine", help="Only this engine.")
@click.pass_obj
def grants(choices: CliOptions, /, target: tuple[str, ...], **options: Any) -> int:
    """Print the least that roles need here, as GRANT statements; without ROLE, for viewer and operator. Runs nothing.

    Ask as a role that may read everything. What the audit log needs is granted by init --operator ROLE.
    """
    from console.cli import grants as command

    choices.only_target(target)
    return choices.run(lambda chosen: command.grants(chosen, **options))


@unstick.command()
@click.argument("action")
@click.option("--engine", help="Only this engine.")
@click.pass_obj
def sql(choices: CliOptions, /, action: str, engine: str | None) -> int:
    """The statements of a ACTION, as they are run. Needs no connection."""
    from console.cli import info as about

    return about.sql(choices, action, engine)


@unstick.command()
@_words("target")
@click.pass_obj
def info(choices: CliOptions, /, target: tuple[str, ...]) -> int:
    """Versions, paths and the server, for a bug report. No secrets."""
    from console.cli import info as about

    choices.only_target(target)
    return choices.run(about.info)


@unstick.command()
@click.option("--headless", is_flag=True, help="Print the connection string, and serve until told to stop.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed makes the same data.")
@click.pass_obj
def demo(choices: CliOptions, /, headless: bool, seed: int) -> int:
    """A console on a PostgreSQL of its own, with work that runs and work that is stuck."""
    from console.cli import screen

    return screen.demo(choices, headless=headless, seed=seed)
