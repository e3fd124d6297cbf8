"""Commands and options.

Each command imports its module when it runs, for a fast start.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from console.cli.exit_codes import CODES
from console.cli.options import CliOptions, node_id
from queries.text.suggest import suggest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from console.target import Target

EXAMPLES = """\b
Examples:
  unstick demo                           try it on a PostgreSQL server of its own
  unstick                                open the console on psql's default database
  unstick postgresql://ops@db1/app       ... on a database: a URI, a name, "host=db1 dbname=app"
  unstick @prod                          ... by the name of a context in the settings
  unstick @prod stuck                    list what is stuck there, and why
  unstick do wake ID --reason "missed"   dry run, confirm, wake
"""
JSON = """JSON: unstick schema prints its JSON Schema; format is raised when a field is removed or has another meaning.
Times are seconds since 1970 UTC by the server's clock ("infinity" for infinite ones), durations are seconds, stored
bytes are base64, null is "not recorded"."""


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Store a shared option, given before or after the command."""
    for each in value if isinstance(value, tuple) else (value,):
        context.ensure_object(CliOptions).choose(str(option.name), each)


def _completing(*names: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]:
    """Return a completer that calls functions of `completion`."""

    def complete(context: click.Context, _: click.Parameter | None, incomplete: str) -> list[CompletionItem[str]]:
        from console.cli import completion

        return [item for name in names for item in getattr(completion, name)(context, incomplete)]

    return complete


@functools.cache
def _shared(*, main: bool) -> tuple[click.Parameter, ...]:
    """Return the shared options, the same objects for each command.

    A command's help shows only the first two.
    """
    few: dict[str, Any] = {"callback": _keep, "expose_value": False}
    rest = {**few, "hidden": not main}
    return (
        click.Option(
            ["-d", "--dsn"],
            metavar="DSN",
            multiple=True,
            help="The database, in any form that psql accepts.",
            shell_complete=_completing("contexts"),
            **few,
        ),
        click.Option(["--json"], is_flag=True, default=None, help="Print JSON instead of text.", **few),
        click.Option(
            ["--config"],
            metavar="FILE",
            type=click.Path(),
            help="Read this settings file instead of the default.",
            **rest,
        ),
        click.Option(["--schema"], metavar="NAME", help="Use this schema if several hold the same engine.", **rest),
        click.Option(
            ["--trust"], metavar="ROLE", multiple=True, help="Read objects of this role, which may run code.", **rest
        ),
        click.Option(
            ["--engines"],
            metavar="DIR",
            multiple=True,
            type=click.Path(),
            help="Also use the engine in this folder, or the engines in its folders.",
            **rest,
        ),
        click.Option(["--read-only"], is_flag=True, default=None, help="Refuse every change.", **rest),
        click.Option(
            ["--override-read-only"],
            is_flag=True,
            default=None,
            help="Allow changes although default_transaction_read_only is on.",
            **rest,
        ),
        click.Option(
            ["--local-log"],
            is_flag=True,
            default=None,
            help="Allow changes although this role may not write the audit log table. A local file gets the entries.",
            **rest,
        ),
        click.Option(["--ascii"], is_flag=True, default=None, help="Use ASCII characters only.", **rest),
        click.Option(["--interval"], metavar="SECONDS", help="Time between two refreshes of the console.", **rest),
    )


class Command(click.Command):
    """A command that accepts the shared options too."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += _shared(main=False)


class Root(click.Group):
    """``unstick``. Accepts a database or context as first word instead of a command."""

    command_class = Command

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params[:0] = _shared(main=True)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their whole first sentence, which click would cut."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(1000)) for name, each in self.commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        return [*_completing("contexts")(ctx, self.params[0], incomplete), *super().shell_complete(ctx, incomplete)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = self._first_word(args)
        if at < len(args) and args[at] not in self.commands:
            self._refuse_typo(args[at], ctx)
            args = [*args[:at], f"--dsn={args[at]}", *args[at + 1 :]]
            after = self._first_word(args)
            if after < len(args) and args[after] not in self.commands and not ctx.resilient_parsing:
                raise click.UsageError(f"{args[after]!r} is not a command{self.hint(args[after])}.", ctx)
        return super().parse_args(ctx, args)

    def _first_word(self, args: Sequence[str]) -> int:
        """Return the index of the first word that is neither an option nor its value."""
        valued = {name for p in self.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts}
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            at += 2 if args[at] in valued else 1
        return at

    def _refuse_typo(self, word: str, context: click.Context) -> None:
        """Raise UsageError if a target resembles a command. ``-d`` accepts any name."""
        if word == "--" or context.resilient_parsing:
            return
        near = suggest(word, self.commands, cutoff=0.75)
        if near:
            raise click.UsageError(f"Did you mean the command {near}? (A database of that name: -d {word})", context)

    def hint(self, word: str) -> str:
        """Return the nearest or all names of commands."""
        near = suggest(word, self.commands)
        return f"; did you mean {near}?" if near else f" (commands: {', '.join(self.commands)})"


def _version(context: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        from console.cli.program import version

        click.echo(f"unstick {version() or '(not installed)'}")
        context.exit()


@click.group(
    cls=Root,
    invoke_without_command=True,
    epilog=f"{EXAMPLES}\n{JSON}\n\nExit codes: {'; '.join(f'{code} {means}' for code, means in CODES.items())}.",
    subcommand_metavar="[TARGET] [COMMAND]",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-V", "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."
)
@click.pass_context
def unstick(context: click.Context) -> int | None:
    """Find, explain and repair stuck tasks in PostgreSQL task engines.

    TARGET is a database as psql accepts it (a name, a URI, key=value words; by default the libpq environment) or
    @NAME, a context of the settings. Without a COMMAND the console opens.
    """
    if context.invoked_subcommand is not None:
        return None
    from console.cli.screen import open_console

    return open_console(context.ensure_object(CliOptions))


def _words(name: str, *offered: str, **settings: Any) -> Callable[[Any], Any]:
    return click.argument(name, nargs=-1, shell_complete=_completing("contexts", *offered), **settings)


_engine = click.option("--engine", help="Only this engine.", shell_complete=_completing("engines"))
_group_by = click.option(
    "--group-by", metavar="FIELD", help="Only count: nodes by value of a field of filters, such as payload.tenant."
)
_allow_scan = click.option("--allow-scan", is_flag=True, help="Run reads that scan a large table.")
_arguments = click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE", help="An argument of the action.")
_sampling = functools.partial(click.option, "--sample", type=click.FloatRange(0), metavar="SECONDS")
_sample = _sampling(help="Sample for this time; some findings need it.")
_watch = click.option(
    "-w", "--watch", is_flag=True, help="Repeat at each --interval until Ctrl-C. With --json, one line each time."
)


def _limit(about: str, default: int | None = None) -> Callable[[Any], Any]:
    return click.option(
        "--limit", type=click.IntRange(1), default=default, show_default=default is not None, help=about
    )


def _filters(purpose: str) -> Callable[[Any], Any]:
    return click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="FILTER",
        help=purpose,
        shell_complete=_completing("saved", "terms"),
    )


def _consent(
    *,
    preview: str = "Run the real SQL and roll it back; change nothing.",
    yes: str = "Do not ask. Required without a terminal.",
) -> Callable[[Any], Any]:
    options = (
        click.option("-r", "--reason", metavar="TEXT", help="Reason for the audit log. Required."),
        click.option("-n", "--dry-run", "preview", is_flag=True, help=preview),
        click.option("--rows", is_flag=True, help="Show each row before and after, and the blast radius."),
        click.option("-y", "--yes", is_flag=True, help=yes),
        click.option(
            "--confirm",
            metavar="NAME",
            help="Like --yes, for destructive actions in a production context: the context's name.",
        ),
    )

    return lambda command: functools.reduce(lambda inner, option: option(inner), reversed(options), command)


def _run(options: CliOptions, command: Callable[[Target], Coroutine[Any, Any, int]]) -> int:
    from console.cli.target import run

    return run(options, command)


def _command(
    words: str = "target",
    *offered: str,
    take: Callable[[CliOptions, Sequence[str]], object] = CliOptions.only_target,
    **settings: Any,
) -> Callable[[Callable[[], None]], click.Command]:
    """Add a command that the function of its name runs, in the file of its name.

    ``take`` makes the function's argument of the ``words``; a target is none.
    """

    def add(about: Callable[[], None]) -> click.Command:
        name = about.__name__

        @click.pass_obj
        @functools.wraps(about)
        def command(options: CliOptions, /, **chosen: Any) -> int:
            function = getattr(importlib.import_module(f"console.cli.{name}"), name)
            record = take(options, chosen.pop(words))
            parameters = () if words == "target" else (record,)
            return _run(options, lambda target: function(target, *parameters, **chosen))

        return unstick.command()(_words(words, *offered, **settings)(command))

    return add


@_command()
def engines() -> None:
    """List the engines of the database, with counts by phase and their actions."""


@_command("filter", "terms", take=CliOptions.without_target)
@_engine
@_filters("Like FILTER.")
@click.option("--depth", type=click.IntRange(1), help="Number of levels. [default: 2; with a filter, all]")
@_limit("Maximum number of nodes at the top, and below each node. With a filter: of nodes that match.", 100)
@click.option("--live", is_flag=True, help="List everything unfinished instead, most urgent first.")
@_group_by
@_allow_scan
@_watch
def tree() -> None:
    """Show jobs and tasks as a tree.

    FILTER: words and field:value, as in the console (phase:blocked age:>2h)."""


@unstick.command()
@_words("target")
@_engine
@_limit("Maximum number per finding.", 200)
@_sample
@_watch
@click.option("--exit-code", is_flag=True, help="End with 4 if something is stuck; 1: not everything was checked.")
@click.pass_obj
def stuck(options: CliOptions, /, target: tuple[str, ...], **settings: Any) -> int:
    """List what is stuck, worst first: reason, since when, and suggested action."""
    from console.cli import stuck as command

    if settings["watch"] and any(word.replace(".", "", 1).isdigit() for word in target):
        raise click.UsageError(f"--watch takes no number. To sample for {target[0]} s: --sample {target[0]}")
    if settings["watch"] and settings["exit_code"]:
        raise click.UsageError("--exit-code is for one answer, --watch repeats it.")
    options.only_target(target)
    return _run(options, lambda chosen: command.stuck(chosen, **settings))


@_command()
@_engine
@_limit("Maximum number of dead letters per engine. [default: 500; with --summary, 10000]")
@click.option("--group", metavar="KEY", help="Only the dead letters of this group.")
@_group_by
@click.option("--summary", is_flag=True, help="Only how often each error occurs, the most frequent first.")
@_allow_scan
def dead() -> None:
    """List dead letters, failed work that awaits a decision, by error and state."""


@_command("text", take=CliOptions.without_target, required=True)
@click.option("--large", is_flag=True, help="Search values of more than 64 kB, too. It takes longer.")
def find() -> None:
    """Find nodes in all engines by an id, or by a text that holds ids.

    TEXT: an id, the beginning of one, a URL or a log line with ids, or a part of a title, error or payload.
    """


@_command()
@_engine
@_sample
def metrics() -> None:
    """Print nodes, findings, dead letters and oldest ages in the OpenMetrics format.

    Each number has its precision as a label: exact, estimated, capped (at least), or unknown, which is NaN.
    """


@_command()
@_engine
@click.option("--on-new", metavar="COMMAND", help="Run this for each new incident, which is JSON on stdin. No shell.")
@click.option("--on-end", metavar="COMMAND", help="Run this for each incident that has been absent for five minutes.")
@click.option("--existing", is_flag=True, help="Report the incidents that exist at the start too.")
def watch() -> None:
    """Report new incidents until Ctrl-C, at each --interval.

    The COMMAND of --on-new runs once a minute for each finding: the keys of further new incidents are in "others". A
    COMMAND that fails runs again, at most three times for an incident.
    """


@_command("id", take=functools.partial(CliOptions.at_least_one, name="ID"), required=True, type=node_id)
@click.option(
    "--size",
    type=click.IntRange(0),
    metavar="BYTES",
    default=65536,
    help="Maximum size of a stored value. [default: 64 kB]",
)
def show() -> None:
    """Show nodes: findings, columns, timers, stored values and available actions.

    ID: a full id, or a bare id that only one node has. With --json, several nodes are a list.
    """


@_command("id", take=functools.partial(CliOptions.at_most_one, name="ID"), type=node_id)
@_engine
@_sampling(help="With ID: measure its queue for this time, to say when it is next.")
def why() -> None:
    """Show which conditions of a worker a node meets, and which not.

    Without ID, show how many unfinished nodes of each queue meet the first condition, the first two, and so on.
    """


@unstick.command("try")
@_words("id", required=True, type=node_id)
@click.option("--as", "role", metavar="ROLE", help="Try it as this role. [default: the worker's, if it is known]")
@click.option("-y", "--yes", is_flag=True, help="Do not ask. Required without a terminal.")
@click.pass_obj
def attempt(options: CliOptions, /, id: tuple[str, ...], **settings: Any) -> int:
    """Try a worker's next statement on a node, as its role, and roll it back.

    ID: a full id, or a bare id that only one node has. If the server refuses it, no worker can do it.
    """
    from console.cli import attempt as command

    text = options.one(id, "ID")
    return _run(options, lambda target: command.attempt(target, text, **settings))


@_command("id", take=functools.partial(CliOptions.at_most_one, name="ID"), type=node_id)
def blockers() -> None:
    """Show which sessions lock the rows of a node, and the chain of waits.

    Without ID, show all blocking on the engines' tables.
    """


@unstick.command()
@click.argument("action", required=False, shell_complete=_completing("contexts", "actions"))
@_words("id", type=node_id)
@_consent()
@_arguments
@click.option(
    "--guard",
    "guards",
    multiple=True,
    metavar="TOKEN",
    help="State that each ID must still have, as printed by stuck; one per ID. [default: the current state]",
)
@click.option(
    "--incident",
    metavar="KEY",
    help="Act on all nodes of an incident that stuck lists, instead of ID.",
    shell_complete=_completing("incidents"),
)
@_filters("Act on the nodes that match, of the kinds that ACTION is for. Refused if not everything could be looked at.")
@click.option("--group", metavar="KEY", help="Act on a group of dead letters that dead lists.")
@_engine
@_limit("Act on at most this number of nodes.")
@click.option(
    "--wait",
    type=click.FloatRange(0, 3600),
    metavar="SECONDS",
    default=0.0,
    help="Wait up to this time for nodes that an executor holds, and act when they are free. Ctrl-C stops.",
)
@click.option("--edit", is_flag=True, help="Edit the text of the node in $EDITOR. [default: at a terminal]")
@click.option(
    "--input",
    type=click.File("r", "utf-8"),
    metavar="FILE",
    help="Take the edited text of the node from a file; - is stdin.",
)
@click.option("--resume", metavar="RUN", help="Continue a run, also one of another machine, instead of ACTION and ID.")
@click.option("--discard", metavar="RUN", help="End a run: its other nodes are not changed.")
@click.pass_obj
def do(
    options: CliOptions,
    /,
    action: str | None,
    id: tuple[str, ...],
    resume: str | None,
    discard: str | None,
    arguments: tuple[str, ...],
    guards: tuple[str, ...],
    filters: tuple[str, ...],
    **settings: Any,
) -> int:
    """Dry-run an ACTION on the nodes ID..., show the changed rows, ask, and commit.

    The ID - reads ids from stdin, one per line. An ID may also be a JSON string, as jq prints it without -r, or a
    bare id that exactly one node has.
    """
    from console.cli.carry_out import Consent

    selection = {name: settings.pop(name) for name in ("incident", "group", "engine", "limit")}
    consent = Consent.taken(settings)
    if resume is not None or discard is not None:
        words = [word for word in (action, *id) if word is not None]
        more = (
            options.without_target(words)
            or consent.reason is not None
            or arguments
            or guards
            or filters
            or any(selection.values())
            or any(settings.values())
        )
        if more or None not in (resume, discard):
            raise click.UsageError("--resume and --discard accept no ACTION, ID or reason: the run has them.")
        if discard is not None and consent.preview:
            raise click.UsageError("--discard has no dry run. Nothing was changed.")
        from console.cli import runs

        if discard is not None:
            return _run(options, lambda target: runs.stop(target, discard))
        return _run(options, lambda target: runs.resume(target, str(resume), consent))
    from console.cli import do as command
    from console.cli.selected import Source

    source = Source(ids=tuple(options.without_target(id)), filter=" ".join(filters) if filters else None, **selection)
    sources = [source.ids or None, source.incident, source.filter, source.group]
    if action is None or sources.count(None) == len(sources):
        raise click.UsageError(
            "An ACTION and an ID, --incident, --filter or --group are required, or --resume with the id of a run."
        )
    if sources.count(None) < len(sources) - 1 or (guards and not source.ids):
        raise click.UsageError("Give one of ID, --incident, --filter and --group; --guard only with ID.")
    if source.engine is not None and source.filter is None:
        raise click.UsageError("--engine is only for --filter.")
    settings |= {"arguments": arguments, "guards": guards}
    return _run(options, lambda target: command.do(target, action, source, consent, **settings))


@unstick.command()
@_words("entry", required=True, type=node_id)
@_consent()
@click.pass_obj
def undo(options: CliOptions, /, entry: tuple[str, ...], **settings: Any) -> int:
    """Undo an ENTRY of the audit log, for all of its nodes or only for the nodes ID...

    ENTRY may also be the id of a run: then all of its entries are undone, at most 500 nodes in a transaction.
    Restores nodes whose rows are still as the action left them. Others are skipped, with the reason. The undo is an
    entry too, so it can be undone.
    """
    from console.cli import undo as command
    from console.cli.carry_out import Consent

    words = options.without_target(entry)
    if not words:
        raise click.UsageError("The id of an entry is required. `unstick audit` lists the entries.")
    return _run(options, lambda target: command.undo(target, words[0], words[1:], Consent(**settings)))


@unstick.command()
@_words("name", "engines")
@click.option("--group", metavar="KEY", help="Revive a group of dead letters that dead lists.")
@_filters("Revive the dead letters of ENGINE that match.")
@_limit("Revive at most this number, the oldest of those that are read.")
@click.option(
    "--cohorts", metavar="SIZES", default="1,5,25", show_default=True, help="The first cohorts; then doubling."
)
@click.option("--pace", metavar="NUMBER/UNIT", help="Revive at most this number per s, min or h. [default: no limit]")
@click.option(
    "--budget",
    metavar="NUMBER",
    default="10%",
    show_default=True,
    help="Stop if more die of the same error: a number, or a percentage of the revived ones.",
)
@click.option(
    "--wait", metavar="TIME", default="30s", show_default=True, help="Time to wait for the answers of a cohort."
)
@_consent(
    preview="Dry-run the first cohort; change nothing.",
    yes="Do not ask. With --resume, the open question is answered with go on.",
)
@_arguments
@click.option("--resume", is_flag=True, help="Continue the redrive RUN, also one of another console.")
@click.option("--stop", is_flag=True, help="End the redrive RUN. It revives no further node.")
@click.option("--list", "listed", is_flag=True, help="List the redrives, newest first.")
@click.pass_obj
def redrive(options: CliOptions, /, name: tuple[str, ...], filters: tuple[str, ...], **settings: Any) -> int:
    """Revive dead letters in growing cohorts: ENGINE, or RUN to --resume or --stop it.

    Each cohort is judged by progress before the next one. The redrive stops by itself if more nodes than the budget
    allows die of the same error. It asks if a cohort does not answer.
    """
    from console.cli import redrive as command
    from console.cli import runs
    from console.cli.carry_out import Consent
    from console.cli.selected import Source

    run = options.at_most_one(name, "ENGINE or RUN")
    selection = {name: settings.pop(name) for name in ("group", "limit")}
    source = Source(engine=run, filter=" ".join(filters) or None, **selection)
    resume, stop, listed = (settings.pop(mode) for mode in ("resume", "stop", "listed"))
    modes = resume + stop + listed
    selects = (source.group is not None) + (source.filter is not None)
    if modes > 1 or selects > 1 or (modes and selects):
        raise click.UsageError("Give one of --group, --filter, --resume, --stop and --list.")
    if listed and run is not None:
        raise click.UsageError("--list lists all redrives: give no name.")
    if listed:
        return _run(options, lambda target: runs.listed(target, redrives=True))
    if modes and run is None:
        raise click.UsageError("Name the redrive. `unstick redrive --list` lists them.")
    consent = Consent.taken(settings)
    if stop and consent.preview:
        raise click.UsageError("--stop has no dry run. Nothing was changed.")
    if resume:
        return _run(options, lambda target: runs.resume(target, str(run), consent, redrives=True))
    if stop:
        return _run(options, lambda target: runs.stop(target, str(run), redrives=True))
    if not selects:
        raise click.UsageError("--group or --filter is required, or --resume, --stop or --list.")
    return _run(options, lambda target: command.redrive(target, source, consent, **settings))


@unstick.command()
@_words("run")
@click.option("--stop", is_flag=True, help="End the RUN: its other nodes are not changed.")
@click.pass_obj
def runs(options: CliOptions, /, run: tuple[str, ...], stop: bool) -> int:
    """List runs, which are changes of many nodes, newest first.

    With RUN, show its outcomes so far. A run can be continued from any machine: do --resume RUN.
    """
    from console.cli import runs as command

    name = options.at_most_one(run, "RUN")
    if name is None and stop:
        raise click.UsageError("Name the run to stop. `unstick runs` lists them.")
    if name is None:
        return _run(options, command.listed)
    return _run(options, lambda target: (command.stop if stop else command.show)(target, str(name)))


@unstick.command()
@_words("id", type=node_id)
@click.option("--who", metavar="TEXT", help="Only entries of this role or user@host, or a part of it.")
@click.option("--since", metavar="TIME", help="Only entries of the last 10m, 2h, 1d ...")
@click.option("--action", metavar="NAME", help="Only entries of this action.", shell_complete=_completing("actions"))
@click.option(
    "--target", "node", metavar="TEXT", help="Only entries about this node: its id, or a part of id or title."
)
@click.option(
    "--outcome",
    metavar="NAME",
    help="Only entries with this outcome (of the target): changed, stale ...",
)
@_limit("Maximum number of entries. [default: 50]")
@click.option("--after", metavar="CURSOR", help="Continue after this entry.")
@click.option(
    "--format",
    type=click.Choice(["csv", "json", "markdown"]),
    help="Export all entries that match: CSV has a line for each node, JSON the changed rows too.",
)
@click.option(
    "--verify", is_flag=True, help="Check the hashes of all entries, and print the heads. Ends with 1 if one is wrong."
)
@click.option(
    "--heads",
    "known",
    type=click.File("r", errors="replace"),
    metavar="FILE",
    help="With --verify: heads of an earlier --verify, as text or JSON, that the entries must still contain.",
)
@click.option("--rows", is_flag=True, help="With ID: show the stored values of each changed row, before and after.")
@click.option("--entries", "singly", is_flag=True, help="List the entries of runs, too. [default: a line for a run]")
@click.pass_obj
def audit(
    options: CliOptions,
    /,
    id: tuple[str, ...],
    verify: bool,
    known: TextIO | None,
    rows: bool,
    singly: bool,
    **settings: Any,
) -> int:
    """Show who changed what, when and why, newest first.

    A run is one line; with its ID, list its entries. With the ID of a node or of an entry, also show what changed. With
    --verify, look for entries that were removed or changed.
    """
    from console.cli import audit as command

    if verify:
        if options.without_target(id) or rows or any(value is not None for value in settings.values()):
            raise click.UsageError("--verify checks all entries: give no ID and no condition.")
        return _run(options, lambda target: command.verify(target, None if known is None else known.read()))
    if known is not None:
        raise click.UsageError("--heads is only for --verify.")
    name = options.at_most_one(id, "ID")
    if rows and name is None:
        raise click.UsageError("--rows is for the ID of an entry or of a node.")
    if name is None or "/" in name:  # the id of a node
        return _run(options, lambda target: command.audit_log(target, name, rows=rows, singly=singly, **settings))
    if any(value is not None for value in settings.values()):
        raise click.UsageError("The ID of an entry or a run takes no condition and no --format.")
    return _run(options, lambda target: command.one(target, name, rows=rows))


@_command()
@click.option("--since", metavar="TIME", default="8h", show_default=True, help="The last 8h, 12h, 1d ...")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a ticket.")
def shift() -> None:
    """Print a hand-over: what is open, done by purpose, stuck again.

    Has at most 40 lines. It names what was undone as undone. --json has everything.
    """


@_command()
@click.option("--since", metavar="TIME", default="10m", show_default=True, help="Changes of the last 10m, 2h, 1d ...")
@_filters("Only changes that match, such as change:poll or !phase:done, of those that are read.")
@_limit("Maximum number of changes.", 200)
@click.option("--after", metavar="CURSOR", help="Continue after this change.")
@click.option("--all", "routine", is_flag=True, help="Also polls, heartbeats, locks and due times.")
@_allow_scan
def changed() -> None:
    """List what engines and operators changed lately, newest first.

    Says which changes an engine records, and which it does not.
    """


@_command()
@click.option("--sql", is_flag=True, help="Only print the statements.")
@click.option(
    "--operator", "operators", multiple=True, metavar="ROLE", help="A role that may add entries and read them."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask. Required without a terminal.")
def init() -> None:
    """Create the audit log, the table unstick.audit_log.

    Shows the statements and asks first.
    """


@_command()
@click.option("--viewer", "viewers", metavar="ROLE", multiple=True, help="A role that may read.")
@click.option("--operator", "operators", metavar="ROLE", multiple=True, help="A role that may also change things.")
@_engine
def grants() -> None:
    """Print the minimal GRANT statements for roles.

    Without ROLE, prints those for viewer and operator. Runs nothing. Run it as a role that may read everything.
    Privileges on the audit log come from init --operator ROLE.
    """


@unstick.command()
@click.argument("action", shell_complete=_completing("contexts", "actions"))
@_engine
@click.pass_obj
def sql(options: CliOptions, /, action: str, engine: str | None) -> int:
    """Print the statements of an ACTION exactly as they are run. Needs no connection."""
    from console.cli import sql as command

    return command.sql(options, action, engine)


@_command()
def info() -> None:
    """Print versions, paths and the server for a bug report. No secrets."""


@unstick.command()
@click.argument("task", type=click.Choice(["new", "check", "show"]))
@_words("what", required=True)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With new: write this folder. [default: engines/TABLE among the settings]",
)
@click.option(
    "--claim",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="With new: the statement by which a worker takes a row ('-': stdin)",
)
@click.pass_obj
def engine(options: CliOptions, /, task: str, what: tuple[str, ...], to: Path | None, claim: TextIO | None) -> int:
    """Propose an engine (new TABLE), check one (check DIR), or show it (show DIR).

    new reads the catalog, writes a folder with a proposal, and lists the questions that only you can answer. It never
    writes to the database, and overwrites no folder. An action is available only with the statement of your worker.

    check runs the engine on an embedded server with the folder's schema.sql and fixture.sql. With a target, it also
    reads the engine there. If no fault is found, the actions of the engine are available until the folder changes. Ends
    with 1 if there is a fault. Needs the extra unstick[demo].

    show prints the statements that have no file because they follow from engine.toml. DIR may be the name of an engine.
    """
    from console.cli import engine_check, engine_new, engine_show

    word = options.one(what, "TABLE" if task == "new" else "DIR")
    if task == "new":
        statement = claim.read() if claim else ""
        return _run(options, lambda target: engine_new.new(target, word, to and to.absolute(), statement))
    if to is not None or claim is not None:
        raise click.UsageError("--to and --claim are only for new.")
    if task == "show":
        return engine_show.show(options, word)
    path = Path(word).resolve()
    return _run(options, lambda target: engine_check.check(target, path, here=options.dsn is not None))


@unstick.command()
@click.option("--headless", is_flag=True, help="Print the connection string and serve until interrupted.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed makes the same data.")
@click.option("--all", "full", is_flag=True, help="Ten engines with every kind of incident, not five with a few.")
@click.pass_obj
def demo(options: CliOptions, /, headless: bool, seed: int, full: bool) -> int:
    """Open the console on an embedded PostgreSQL server with running and stuck work."""
    from console.cli import screen

    return screen.demo(options, headless=headless, seed=seed, full=full)


@unstick.command()
@_words("command", "commands")
@click.pass_obj
def schema(options: CliOptions, /, command: tuple[str, ...]) -> None:
    """Print the JSON Schema of what a COMMAND prints with --json, or of all commands."""
    from console.cli import output
    from console.cli import schema as schemas

    name = options.at_most_one(command, "COMMAND")
    if name is not None and name not in schemas.ANSWERS:
        raise click.UsageError(f"{name!r} has no JSON output. Commands: {', '.join(schemas.ANSWERS)}.")
    click.echo(output.encoded(schemas.schema(schemas.ANSWERS if name is None else [name]), indent=True))


@unstick.command("help")
@_words("command", "commands")
@click.pass_context
def help_(context: click.Context, /, command: tuple[str, ...]) -> None:
    """Show the help of a COMMAND, or of unstick.

    do ACTION shows what an action does in each engine, and its arguments.
    """
    root = context.find_root()
    if len(command) == 2 and command[0] == "do":
        from console.cli.action_help import lines

        click.echo("\n".join(lines(context.ensure_object(CliOptions), command[1])))
        return
    if len(command) > 1:
        raise click.UsageError("Name one command, or do and an action: unstick help do wake.")
    for name in command:
        command_named = unstick.get_command(root, name)
        if command_named is None:
            raise click.UsageError(f"{name!r} is not a command{unstick.hint(name)}.")
        click.echo(command_named.get_help(click.Context(command_named, info_name=name, parent=root)))
    if not command:
        click.echo(root.get_help())


@unstick.command()
def man() -> None:
    """Print the manual page. Show it with: unstick man | man -l -"""
    from console.cli import manual

    click.echo("\n".join(manual.source(unstick, CODES, EXAMPLES, JSON)))


@unstick.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    bash: eval "$(unstick completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. fish: unstick
    completion fish > ~/.config/fish/completions/unstick.fish.
    """
    from console.cli.completion import script

    click.echo(script(unstick, shell), nl=False)
