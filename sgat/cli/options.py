"""Options that verbs share: those of the settings, made from what these declare."""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sgat.config import DataConfig, FileOptions, ModelConfig, TrainConfig
from sgat.config.checked import Settings
from sgat.config.pruning import PruneRequest, Rules

Given = dict[str, Any]
"""Values of the options of one section that were given, by the name of the setting."""

DATA, MODEL, TRAINING, RUN = "Data", "Model", "Training", "Run"
"""Panels of the help."""
PANELS: Mapping[type[Settings], str] = {
    **{DataConfig: DATA, FileOptions: DATA},
    **{ModelConfig: MODEL, TrainConfig: TRAINING},
    **{PruneRequest: "Pruning", Rules: "What is kept"},
}
FLAGS = {"root": ("--data-root",), "l0_weight": ("--l0-weight", "--lambda")}
"""Options that are not called as their settings."""
PLACES = {"edges": "FILE", "nodes": "FILE", "root": "FOLDER"}
METAVARS = {tuple: "A,B,…", Path: "PATH"}
MANY = " May be given more than once."
WITHOUT_OPTION = (
    *("bias", "temperature", "gamma", "zeta", "init_gain", "backend"),
    *("unknown_category", "edges_format", "nodes_format"),
)
"""Settings that only config files and Python have."""

DATA_ROOT = typer.Option(
    None, "--data-root", help=DataConfig.declared()["root"].help, metavar=PLACES["root"]
)
GRAPH = typer.Option(None, help="Name of the graph, where there are several.")
JSON = typer.Option(False, "--json", help="Print JSON for machines.")
QUIET = typer.Option(False, "--quiet", help="Show no progress.")


def comma_list(text: str) -> tuple[str, ...]:
    """The names in "a, b"; none in ""."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def as_folder(out: str | None) -> Path | None:
    """The folder `out`; "" is refused, for it would be the current one."""
    if out == "":
        raise ValueError("`out` must not be empty.")
    return None if out is None else Path(out)


def option(panel: str, text: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option that is no setting, on a panel of the help."""
    return typer.Option(default, *names, help=text, rich_help_panel=panel, **more)


def with_settings(
    *, only: Collection[str] = (), of_run: bool = False, **sections: type[Settings]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb an option for every setting of some sections.

        @with_settings(train=TrainConfig)
        def verb(train: Given, *, quiet: bool = False) -> None: ...

    The verb gets a dictionary for each section, under the name used here, with what was
    given on the command line. What was not given is not in it, so that config files and
    defaults keep their say. A setting that is a parameter of the verb has no option. Of
    `FileOptions` those in `only` have one, by default all but `WITHOUT_OPTION`; their
    defaults are those of a run with `of_run`.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb, eval_str=True).parameters

        def has_option(kind: type[Settings], name: str) -> bool:
            if only and kind is FileOptions:
                return name in only
            return name not in (*own, *WITHOUT_OPTION)

        options = {
            section: [
                _parameter(kind, name, of_run=of_run and kind is FileOptions)
                for name in kind.declared()
                if has_option(kind, name)
            ]
            for section, kind in sections.items()
        }

        @functools.wraps(verb)
        def run(**arguments: Any) -> None:
            for section, parameters in options.items():
                values = {each.name: arguments.pop(each.name) for each in parameters}
                arguments[section] = {
                    name: _value(sections[section], name, value)
                    for name, value in values.items()
                    if value not in (None, [])
                }
            verb(**arguments)

        parameters = [each for part in options.values() for each in part]
        parameters += [own[name] for name in own if name not in sections]
        parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _parameter(kind: type[Settings], name: str, *, of_run: bool) -> inspect.Parameter:
    """The option of a setting; None if it is not given."""
    setting = kind.declared()[name]
    text = re.sub("`([a-z0-9_]+)`", lambda found: _flags(found[1])[0], setting.help)
    shown = _shown(getattr(kind, name))
    if of_run:
        text, shown = text.partition(" By default ")[0], r" \[as in the run]"
    if name == "name":
        option: Any = typer.Argument(help=text)
    else:
        flags = _flags(name)
        if setting.kind is bool:
            flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
        option = typer.Option(
            *flags,
            help=text + (MANY if setting.kind is tuple else "") + shown,
            rich_help_panel=PANELS[kind],
            metavar=METAVARS.get(setting.kind) or PLACES.get(name),
            show_default=False,
            autocompletion=_completion(setting.choices),
        )
    plain: Any = list[str] if setting.kind is tuple else setting.kind
    hint, keyword = Annotated[plain | None, option], inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=None, annotation=hint)


def _completion(choices: tuple[str, ...]) -> Callable[[str], list[str]] | None:
    """Values that begin as typed; None leaves it to the shell, as for files."""
    if not choices:
        return None
    return lambda incomplete: [each for each in choices if each.startswith(incomplete)]


def _flags(name: str) -> tuple[str, ...]:
    return FLAGS.get(name, (f"--{name.replace('_', '-')}",))


def _shown(default: Any) -> str:
    """A default as the help shows it; the bracket must not look like markup."""
    if default is None or default is False or default == ():
        return ""
    return rf" \[{'on' if default is True else default}]"


def _value(kind: type[Settings], name: str, value: Any) -> Any:
    if kind.declared()[name].kind is not tuple:
        return value
    return tuple(name for part in value for name in comma_list(part))
