"""The command line: one file per verb, each thin over the library."""

import contextlib
import json
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any
from unicodedata import category

import typer

VERBS = (
    *("fit", "judge", "prune", "report", "explain", "predict", "verify", "data"),
    "demo",
)
"""The modules of this package, in the order of the help; importing one adds its
commands to `app`."""

LONGEST = 1000
"""Characters of an error beyond which its middle is left out."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
FOR_TORCH = {"THP_MEM_ALLOC_ENABLE": "1", "MKL_CBWR": "AUTO,STRICT"}
"""Read when torch is imported. It asks Linux for large tensors in pages of 2 MiB: in
those of 4 KiB, making and dropping them takes a quarter of an epoch. And products of
matrices round by the number of threads in fewer cases (docs/trust.md)."""

app = typer.Typer(
    name="sgat",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


class _Notes(logging.Handler):
    """Writes notes with arguments named as options of the command that runs."""

    def __init__(self, app: typer.Typer, arguments: Sequence[str]) -> None:
        super().__init__()
        self.app, self.arguments = app, arguments

    def emit(self, record: logging.LogRecord) -> None:
        """Write one note; that it cannot be written ends no command."""
        try:
            said = as_options(self.app, record.getMessage(), self.arguments)
            say(f"note: {said}")
        except Exception:
            self.handleError(record)


def _show_version(wanted: bool) -> None:
    if wanted:
        import sgat

        typer.echo(f"sgat {sgat.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and exit.",
        callback=_show_version,
        is_eager=True,
    ),
) -> None:
    """Find the wrong edges of a graph, and learn without them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0: done. 1: bad input, reported in one sentence on standard error; SGAT_DEBUG=1
    shows the traceback. 2: wrong usage. 130: interrupted, by Ctrl-C or SIGTERM.
    """
    with _terminable():
        return run_app(app, [f"sgat.cli.{verb}" for verb in VERBS], arguments)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM counts as Ctrl-C, so that a command cleans up, unless somebody has it."""
    before = signal.getsignal(signal.SIGTERM)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_app(
    app: typer.Typer, modules: Sequence[str], arguments: Sequence[str] | None
) -> int:
    """Import the modules of the verbs, run a command and return the exit code."""
    # Else the next file that is opened would take their numbers.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))
    given = sys.argv[1:] if arguments is None else arguments
    root, notes = logging.getLogger(), _Notes(app, given)
    for name, value in FOR_TORCH.items():
        os.environ.setdefault(name, value)
    try:
        for module in modules:
            import_module(module)
        for word in given:
            if word.encode(errors="replace").decode() != word:
                raise ValueError(
                    f"A name must be UTF-8, got {word!r}; rename the file or folder."
                )
        if not root.handlers:
            root.addHandler(notes)
        app(args=None if arguments is None else list(arguments))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, OSError, ImportError, MemoryError, RuntimeError) as error:
        # Python wraps Ctrl-C that comes while a class is being made.
        if isinstance(error.__cause__, KeyboardInterrupt):
            return INTERRUPTED
        from sgat.data.files.bounds import is_out_of_memory

        no_memory = is_out_of_memory(error)
        is_known = not isinstance(error, RuntimeError) or no_memory
        if os.environ.get("SGAT_DEBUG") or not is_known:
            raise
        if no_memory:
            # What the work held is not needed to say so.
            traceback.clear_frames(error.__traceback__)
        text = _sentence(error, no_memory=no_memory)
        say(f"error: {shortened(as_options(app, text, given))}")
        return 1
    finally:
        root.removeHandler(notes)
    return 0


def show(record: Any, text: str, *, as_json: bool, indent: int | None = 2) -> None:
    """Print a result: as text for people, or as JSON for machines."""
    typer.echo(json.dumps(record, indent=indent) if as_json else plain(text))


def say(text: str) -> None:
    """Print something besides the result."""
    print(plain(text), file=sys.stderr)


def plain(text: str) -> str:
    """The text with escapes in place of what a terminal would obey, in names or ids."""
    return "".join(
        repr(sign)[1:-1] if category(sign)[0] == "C" and sign not in "\n\t" else sign
        for sign in text
    )


def shortened(sentence: str) -> str:
    """A sentence that quotes a very long value, without the middle of it."""
    if len(sentence) <= LONGEST:
        return sentence
    return f"{sentence[: LONGEST // 2]} … {sentence[-LONGEST // 2 :]}"


def as_options(app: typer.Typer, sentence: str, arguments: Sequence[str]) -> str:
    """A sentence of the library with its arguments named as options of the verb."""
    command: Any = typer.main.get_command(app)
    for word in arguments:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    named = {
        param.name: param.opts[0]
        for param in command.params
        if param.opts[0].startswith("--")
    }
    named.setdefault("root", named.get("data_root", "root"))
    return re.sub(
        "`([a-z0-9_]+)`", lambda found: f"`{named.get(found[1], found[1])}`", sentence
    )


def _sentence(error: BaseException, *, no_memory: bool) -> str:
    if no_memory and not str(error).startswith("Memory ran out"):
        return (
            "There is not enough memory for this graph and model; make it smaller, for"
            " instance with a lower `--hidden` or fewer `--heads`."
        )
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__
