"""Definition of an operator by its inputs, its empty outputs and its passes."""

import importlib
import inspect
import typing
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

FastBackend = Literal["cpu", "gpu"]


def operator(name: str, inputs: Any, empty: Callable[[Any], Any]) -> Any:
    """Define the operator `sgat::name`, which fills new tensors.

    `inputs` is a NamedTuple class: the arguments, among them `backend`. `empty` makes
    the outputs from them: a tensor, a NamedTuple of tensors, or a tuple of such, as its
    annotation says. The backend's function of this name gets both; the operator returns
    all tensors of the outputs, in their order.
    """

    def run(*given: Any) -> Any:
        named = inputs(*given)
        outputs = empty(named)
        groups = outputs if type(outputs) is tuple else (outputs,)
        # Imported when the backend is first used.
        kernels = importlib.import_module(f"sgat.ops.{named.backend}")
        getattr(kernels, name)(named, *groups)
        return _flat(outputs)

    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = [
        inspect.Parameter(field, either, annotation=kind)
        for field, kind in typing.get_type_hints(inputs).items()
    ]
    number = _count(typing.get_type_hints(empty)["return"])
    returned = Tensor if number == 1 else tuple[(Tensor,) * number]  # type: ignore[misc]
    signature = inspect.Signature(arguments, return_annotation=returned)
    run.__signature__ = signature  # type: ignore[attr-defined]  # read by torch
    defined = torch.library.custom_op(f"sgat::{name}", run, mutates_args=())
    defined.register_fake(lambda *given: _flat(empty(inputs(*given))))
    return defined


def _count(outputs: Any) -> int:
    """Number of tensors in outputs of this type."""
    if outputs is Tensor:
        return 1
    if hasattr(outputs, "_fields"):
        return len(outputs._fields)
    return sum(_count(part) for part in typing.get_args(outputs))


def _flat(outputs: Any) -> Any:
    if isinstance(outputs, Tensor):
        return outputs
    groups = outputs if type(outputs) is tuple else (outputs,)
    return tuple(tensor for group in groups for tensor in group)


def gradients(inputs: Any, **found: Any) -> tuple[Any, ...]:
    """The gradient of every input, by its place; None for those not named."""
    return tuple(found.get(field) for field in inputs._fields)
