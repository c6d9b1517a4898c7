"""Settings: frozen dataclasses whose values are checked against their types.

msgspec compares values with types. It says "Expected `int` >= 1"; the sentences here
name the setting and the value, as all errors of this package do.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import msgspec
from msgspec import Meta

MOST = sys.float_info.max
"""The largest finite number; msgspec takes no infinite bounds."""
LARGEST = 2**63 - 1
"""The largest bound of a whole number that msgspec takes."""

# The description completes an error: "`hidden` must be at least 1, got 0."
Count = Annotated[int, Meta(ge=1, le=LARGEST, description="at least 1 and below 2**63")]
Width = Annotated[int, Meta(ge=1, le=2**20, description="from 1 to 1048576")]
Depth = Annotated[int, Meta(ge=0, le=1000, description="from 0 to 1000")]
CountOrZero = Annotated[
    int, Meta(ge=0, le=LARGEST, description="at least 0 and below 2**63")
]
Rank = Annotated[int, Meta(ge=1, le=64, description="from 1 to 64")]
Size = Annotated[int, Meta(ge=0, le=2**40, description="at least 0")]
Seed = Annotated[int, Meta(ge=0, le=LARGEST, description="in [0, 2**63)")]
Share = Annotated[float, Meta(ge=0, le=1, description="in [0, 1]")]
ShareLeft = Annotated[float, Meta(gt=0, le=1, description="in (0, 1]")]
ShareDropped = Annotated[float, Meta(ge=0, lt=1, description="in [0, 1)")]
Price = Annotated[float, Meta(ge=0, le=MOST, description="at least 0 and finite")]
Gain = Annotated[float, Meta(ge=0, le=1e6, description="in [0, 1e6]")]
Finite = Annotated[float, Meta(ge=-MOST, le=MOST, description="finite")]
Rate = Annotated[float, Meta(gt=0, le=MOST, description="positive and finite")]

KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
    tuple: "a list of strings",
    list: "a list",
    dict: "a table",
    Path: "a path",
}
"""Types in the words of an error."""


class Setting(NamedTuple):
    """The type of one setting, taken apart."""

    hint: Any  # the type as it is declared
    kind: Any  # of its values, without bounds and None: int, tuple, …
    bounds: str  # in words; empty if there are none
    choices: tuple[str, ...]  # values of a `Literal`; empty for other types
    help: str  # from the docstring of the section

    @classmethod
    def from_hint(cls, hint: Any, text: str = "") -> Setting:
        """Take apart `Annotated[int, Meta(ge=1)] | None`."""
        kind, bounds = hint, ""
        if typing.get_origin(kind) in (typing.Union, types.UnionType):
            (kind,) = (k for k in typing.get_args(kind) if k is not types.NoneType)
        if typing.get_origin(kind) is Annotated:
            kind, meta = typing.get_args(kind)
            bounds = meta.description
        is_choice = typing.get_origin(kind) is Literal
        choices = typing.get_args(kind) if is_choice else ()
        kind = str if is_choice else typing.get_origin(kind) or kind
        return cls(hint, kind, bounds, choices, text)

    def checked(self, name: str, value: Any) -> Any:
        """A value in its type and bounds: a list as a tuple, an integer as a float."""
        if issubclass(self.kind, Settings):
            # A group within a group may come as a table.
            if isinstance(value, self.kind):
                return value
            if not isinstance(value, Mapping):
                raise ValueError(f"`{name}` must be a table, got {_shown(value)}.")
            return self.kind.from_dict(value, where=f"[{name}]")
        if getattr(value, "shape", None) == ():
            value = value.item()  # a number of numpy or torch
        if isinstance(value, str) and "\0" in value:
            raise ValueError(f"`{name}` must hold no NUL, got {value!r}.")
        try:
            return msgspec.convert(value, self.hint)
        except msgspec.ValidationError:
            wanted = self._wanted(value)
            raise ValueError(
                f"`{name}` must be {wanted}, got {_shown(value)}."
            ) from None

    def _wanted(self, value: Any) -> str:
        """The reason why a value is refused: it is no choice, its bounds, its type."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        try:
            msgspec.convert(value, self.kind)
            return self.bounds or KINDS[self.kind]
        except msgspec.ValidationError:
            return KINDS[self.kind]


@dataclasses.dataclass(frozen=True)
class Settings:
    """A group of settings; values are checked against the types of the fields.

    A field's text under `Attributes` in the docstring is its help on the command line.
    """

    def __post_init__(self) -> None:
        """Refuse values of another type or out of bounds."""
        for name, setting in self.declared().items():
            value = getattr(self, name)
            # Defaults, which the class holds, are right: tests check them.
            if value is not getattr(type(self), name, dataclasses.MISSING):
                object.__setattr__(self, name, setting.checked(name, value))

    @classmethod
    @functools.cache  # reading the types takes longer than checking the values
    def declared(cls) -> Mapping[str, Setting]:
        """The settings of the group by name, taken apart."""
        texts: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            page = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
            texts |= re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", page, re.MULTILINE)
        hints = typing.get_type_hints(cls, include_extras=True)
        return {
            name: Setting.from_hint(hint, " ".join(texts.get(name, "").split()))
            for name, hint in hints.items()
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, where: str = "config") -> Self:
        """Build from a table; `where` says in messages where it comes from."""
        for key in content:
            if key not in cls.declared():
                raise ValueError(f"{where}: {_unknown(key, list(cls.declared()))}")
        try:
            return cls(**content)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:
        # Python writes no number of more than some thousand digits.
        return "a number of too many digits"


def _unknown(key: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}."
    return f"unknown key {key!r}; {hint}"
