"""What ``engine.toml`` may say, as records. The loader in :mod:`queries.contract.loader` checks what types cannot."""

from queries.model import Phase, Proof, Record, Risk, Support


class Decline(Record, forbid_unknown_fields=True):
    """A lookalike, declined with ``why``: all these relations are there, or one of these columns is."""

    why: str
    relations: tuple[str, ...] = ()
    columns: dict[str, tuple[str, ...]] = {}


class FunctionSpec(Record, forbid_unknown_fields=True):
    """A function by name and the type names of its arguments."""

    name: str
    arguments: tuple[str, ...] = ()


class Recognise(Record, forbid_unknown_fields=True):
    """How the engine is told from others: by structure, never by name alone."""

    relations: dict[str, dict[str, str]]  # relation -> column -> base type (domains resolved; ``a|b``: either; ``*``)
    enums: dict[str, tuple[str, ...]] = {}
    composites: dict[str, tuple[str, ...]] = {}
    functions: tuple[FunctionSpec, ...] = ()
    optional: tuple[str, ...] = ()  # relations that may be missing, and columns, as ``relation.column``
    literals: dict[str, tuple[str, ...]] = {}  # relation -> words its CHECK constraints name
    unique: dict[str, tuple[str, ...]] = {}  # relation -> columns of a unique index it must have
    absent: dict[str, tuple[str, ...]] = {}  # relation -> columns that tell a lookalike


class Need(Record, forbid_unknown_fields=True):
    """What makes a question cheap: an index leading with ``columns``, a small table, or an object that exists."""

    why: str
    table: str = ""
    columns: tuple[str, ...] = ()
    ddl: str = ""
    functions: tuple[str, ...] = ()  # of the engine, that its statements call: there, executable, and safe to call
    relation: str = ""  # schema-qualified, e.g. of an extension
    partial: tuple[str, ...] = ()  # predicates of partial indexes that will do, as the server spells them
    full: bool = True  # whether an index of all rows will do
    whole: bool = True  # whether a table that is small enough to be read whole will do
    column: str = ""  # of ``table``
    closed: bool = False  # those functions use unqualified names: the schema goes on the search_path around the call


class Kind(Record, forbid_unknown_fields=True):
    """A kind of node. ``not_recorded`` names the columns this engine has no value for."""

    name: str
    title: str
    children: bool = False
    not_recorded: tuple[str, ...] = ()


class Status(Record, forbid_unknown_fields=True):
    """What a native status means."""

    native: str
    phase: Phase
    means: str


class FindingSpec(Record, forbid_unknown_fields=True):
    """A finding. One with ``sample`` is drawn from the console's own repeated looks instead of from one query."""

    code: str
    title: str
    severity: int
    sentence: str
    proof: Proof = Proof.VERIFIED
    action: str | None = None
    arguments: dict[str, str] = {}  # of that action: each a text with names of the evidence, as ``{position}``
    sample: str | None = None
    same: tuple[str, ...] = ()  # fields, sampled or of the evidence, that stay the same; the action is guarded by them
    changes: tuple[str, ...] = ()  # sampled fields, one of which changed at each of ``times`` looks
    step: str | None = None  # sampled number, counted instead of ``changes`` where it has grown
    least: str | None = None  # sampled number: by how much at least
    times: str | None = None  # threshold: how many changes make the finding
    grows: str | None = None  # sampled number whose growth is told: ``grown``, and ``per_minute``
    per_minute: str | None = None  # threshold: by how much a minute it must have grown
    seconds: str | None = None  # threshold: how long it must have lasted


class Argument(Record, forbid_unknown_fields=True):
    """Something an action asks the operator for."""

    name: str
    title: str
    type: str = "text"  # text, int, flag, choice, json
    required: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()


class Action(Record, forbid_unknown_fields=True):
    """What an operator can do to nodes of these kinds in these phases (none given: in any)."""

    name: str
    key: str
    title: str
    kinds: tuple[str, ...]
    support: Support
    effect: str = ""
    next: str = ""  # what the engine will do then
    why: str = ""
    file: str = ""
    phases: tuple[Phase, ...] = ()
    risk: Risk = Risk.MEDIUM
    proof: Proof = Proof.VERIFIED
    guard: str = "rows"  # "rows": every touched row must be as dry-run; "node": the node's version alone
    confirm: str = "button"  # or "typed"
    undo: bool = False
    privileges: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    bulk_needs_index: bool = False
    waits: bool = False  # the operator may wait for nodes that a ``refused`` row marks ``for_now``
    independent: bool = False  # what it locks and changes of a node it does of no other: chunks may go side by side
    arguments: tuple[Argument, ...] = ()
    when: dict[str, str] = {}  # options that must have these values, for actions that differ by variant

    @property
    def writes(self) -> bool:
        """Whether the action can be carried out from here at all."""
        return self.support in (Support.NATIVE, Support.EMULATED)

    @property
    def script(self) -> str:
        """Name of its file under ``actions/``."""
        return self.file or self.name


class Option(Record, forbid_unknown_fields=True):
    """A setting of an engine that is no threshold: one of ``choices``, any text, or a table of names to texts.

    ``view``: what its trees are grouped by; a key of the console goes to the next choice. ``columns``: the names of
    this map are columns of other tables, ``table.column`` or ``*.column``, of this base type, which keep ids of the
    engine's rows. Actions that delete read them.
    """

    title: str
    type: str = "choice"  # choice, text, map
    choices: tuple[str, ...] = ()
    default: str | dict[str, str] = ""
    view: bool = False
    columns: str = ""


class EngineSpec(Record, forbid_unknown_fields=True):
    """``engine.toml`` as it stands in the file."""

    title: str
    about: str
    recognise: Recognise
    kinds: tuple[Kind, ...]
    dead: str = ""  # in a sentence: what a dead letter is in this engine, or why it has none
    declines: tuple[Decline, ...] = ()
    besides: tuple[str, ...] = ()  # other schemas with types of its columns: roles need USAGE on them
    unqualified: bool = False  # its own functions and triggers use unqualified names: they need its schema on the path
    needs: dict[str, Need] = {}
    statuses: tuple[Status, ...] = ()
    stale_by: tuple[str, ...] = ()  # unique indexes (``*``: any text) violated where somebody else was faster
    thresholds: dict[str, str | int | float | dict[str, str | int | float]] = {}  # by name, or by kind and name
    options: dict[str, Option] = {}
    findings: tuple[FindingSpec, ...] = ()
    actions: tuple[Action, ...] = ()
