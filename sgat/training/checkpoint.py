"""Save and load weights and training state as safetensors: never a pickle.

One file holds the tensors and, as text in its header, everything else. It is written
under a temporary name and renamed, so it is either the old state or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sgat.data.files.atomic import replacing

MODEL_FORMAT = 3
"""Counts up when tensors get other names, or the same ones would mean something else;
since 3, the judge of edges stands apart from the layers."""


def save_tensors(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write tensors by name, with a JSON-able `state` in the file's header."""
    from safetensors.torch import save

    on_cpu = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        temporary.write_bytes(save(on_cpu, metadata={"state": json.dumps(state)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the state that `save_tensors` wrote."""
    with _opened(path) as (file, state):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # a handle, not a dict
        return tensors, state


def load_state(path: Path) -> dict[str, Any]:
    """Read the `state` of what `save_tensors` wrote, and no tensors."""
    with _opened(path) as (_, state):
        return state


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {})["state"])
            if not isinstance(state, dict):
                raise ValueError("its state is no table of entries")
            yield file, state
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged or was not written by sgat: {error}."
        ) from None


def check_format(found: Any, path: Path, advice: str) -> None:
    """Refuse weights of another format; `advice` ends the sentence."""
    if found != MODEL_FORMAT:
        raise ValueError(
            f"{path} was written by another version of sgat (format {found}, not"
            f" {MODEL_FORMAT}); {advice}."
        )


def pack(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Put a prefix before every name, so that several groups fit in one file."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def unpack(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of one group, without the prefix."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): tensor
        for name, tensor in tensors.items()
        if name.startswith(start)
    }


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The moments and step counts of an optimiser by parameter number."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}.{key}": torch.as_tensor(value)
        for number, entries in state.items()
        for key, value in entries.items()
    }


def restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put back what `optimiser_tensors` gave."""
    content = optimiser.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, key = name.split(".", 1)
        state.setdefault(int(number), {})[key] = tensor
    content["state"] = state
    optimiser.load_state_dict(content)


def load_weights(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Load weights into a model, refusing a file that does not fit with a sentence."""
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        detail = " ".join(str(error).split())
        raise ValueError(f"{path} does not fit the model: {detail}") from None
