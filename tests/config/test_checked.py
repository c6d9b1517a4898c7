import dataclasses
from typing import Literal

import numpy as np
import pytest
import torch

from sgat.config.checked import Count, Price, Rate, Seed, Setting, Settings, ShareLeft


@dataclasses.dataclass(frozen=True)
class Inner(Settings):
    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Outer(Settings):
    """A group.

    Attributes:
        count: How many there are, which takes a whole
            line and some more.
        maybe: Perhaps.
    """

    count: Count = 3
    share: ShareLeft | None = None
    price: Price = 0.5
    rate: Rate = 0.5
    seed: Seed = 0
    is_on: bool = False
    text: str = ""
    choice: Literal["one", "other"] = "one"
    maybe: Literal["a"] | None = None
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"count": 0}, "`count` must be at least 1 and below 2**63, got 0."),
        (
            {"count": 10**30},
            f"`count` must be at least 1 and below 2**63, got {10**30}.",
        ),
        (
            {"count": 10**100_000},
            "`count` must be at least 1 and below 2**63, got a number of too many"
            " digits.",
        ),
        ({"seed": -(10**5000)}, "`seed` must be in [0, 2**63), got a number of too"),
        ({"text": [10**5000]}, "`text` must be a string, got a number of too many"),
        ({"inner": 10**5000}, "`inner` must be a table, got a number of too many"),
        ({"count": "many"}, "`count` must be a whole number, got 'many'."),
        ({"count": 2.0}, "`count` must be a whole number, got 2.0."),
        ({"count": True}, "`count` must be a whole number, got True."),
        ({"count": None}, "`count` must be a whole number, got None."),
        ({"count": np.array([1, 2])}, "`count` must be a whole number, got array"),
        ({"share": 0}, "`share` must be in (0, 1], got 0."),
        ({"share": "0.3"}, "`share` must be a number, got '0.3'."),
        ({"price": -1e-6}, "`price` must be at least 0 and finite, got -1e-06."),
        ({"price": float("inf")}, "`price` must be at least 0 and finite, got inf."),
        ({"rate": float("nan")}, "`rate` must be positive and finite, got nan."),
        ({"seed": 2**63}, "`seed` must be in [0, 2**63), got 9223372036854775808."),
        ({"is_on": "no"}, "`is_on` must be true or false, got 'no'."),
        ({"text": 1}, "`text` must be a string, got 1."),
        ({"choice": "x"}, "`choice` must be one of one, other, got 'x'."),
        ({"choice": 3}, "`choice` must be one of one, other, got 3."),
        ({"maybe": "b"}, "`maybe` must be one of a, got 'b'."),
        ({"inner": 3}, "`inner` must be a table, got 3."),
        ({"inner": {"names": "a"}}, "[inner]: `names` must be a list of strings, got"),
        ({"inner": {"names": [3]}}, "`names` must be a list of strings, got [3]."),
        ({"cuont": 1}, "unknown key 'cuont'; did you mean 'count'?"),
        ({"inner": {"x": 1}}, "here: [inner]: unknown key 'x'; known: names."),
    ],
)
def test_a_bad_value_is_refused_with_a_sentence(values, message):
    with pytest.raises(ValueError) as error:
        Outer.from_dict(values, where="here")
    assert str(error.value).startswith("here")
    assert message in str(error.value)


def test_the_constructor_and_replace_check_too():
    with pytest.raises(
        ValueError, match=r"^`count` must be at least 1 and below 2\*\*63, got 0\.$"
    ):
        Outer(count=0)
    with pytest.raises(
        ValueError, match=r"^`count` must be at least 1 and below 2\*\*63, got 0\.$"
    ):
        dataclasses.replace(Outer(), count=0)


def test_values_get_the_type_that_is_declared():
    made = Outer.from_dict({"price": 2, "inner": {"names": ["a", "b"]}})
    assert type(made.price) is float and made.inner.names == ("a", "b")
    assert hash(made) == hash(Outer(price=2.0, inner=Inner(("a", "b"))))


@pytest.mark.parametrize("number", [np.int64(5), np.uint8(5), torch.tensor(5)])
def test_numbers_of_numpy_and_torch_become_plain_ones(number):
    assert type(Outer(count=number).count) is int
    assert Outer(price=number).price == 5.0
    assert Outer(share=np.float32(0.5), is_on=np.bool_(True)).is_on is True


def test_a_type_is_taken_apart():
    declared = Outer.declared()
    assert list(declared) == [field.name for field in dataclasses.fields(Outer)]
    found = declared["count"]
    assert (found.kind, found.bounds) == (int, "at least 1 and below 2**63")
    assert found.help == "How many there are, which takes a whole line and some more."
    maybe = declared["maybe"]
    assert (maybe.kind, maybe.choices, maybe.help) == (str, ("a",), "Perhaps.")
    assert declared["inner"].kind is Inner
    assert declared["text"].help == ""
    assert Setting.from_hint(tuple[str, ...] | None).kind is tuple


def test_a_section_inherits_help():
    @dataclasses.dataclass(frozen=True)
    class More(Outer):
        """More.

        Attributes:
            extra: One more.
        """

        extra: int = 1

    assert More.declared()["maybe"].help == "Perhaps."
    assert More.declared()["extra"].help == "One more."
