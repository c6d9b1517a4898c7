"""BinaryTraining: SGAT trained with binary gates in place of the hard concrete."""

from collections.abc import Sequence

from sgat.config import TrainConfig
from sgat.data.node_data import NodeData
from sgat.models import SGAT
from sgat.training.epoch import Epochs
from sgat.training.loop import Training
from sgat_lab.binary_gates.estimators import ESTIMATORS
from sgat_lab.binary_gates.gates import BinaryGates
from sgat_lab.config import MethodConfig


def use_gates(epochs: Epochs, gates: BinaryGates) -> None:
    """Have a training that has not begun draw binary gates and learn them.

    "gumbel" needs no estimator, and neither does a model that uses no edges.
    """
    model = epochs.model
    if not isinstance(model, SGAT) or model.judge is not None:
        raise ValueError(
            "`gate_gradient` must be hard_concrete unless SGAT learns its gates; use"
            " another scorer than evidence."
        )
    model.gating.gates = gates
    # The reference backend, which these gates need, waits for the device.
    model.can_replay = False
    if model.reach and gates.gradient in ESTIMATORS:
        epochs.estimator = ESTIMATORS[gates.gradient](gates, epochs.device)


class BinaryTraining(Training):
    """A training with the binary gates that the settings describe."""

    def __init__(
        self, graphs: Sequence[NodeData], model: MethodConfig, train: TrainConfig
    ) -> None:
        super().__init__(graphs, model, train)
        assert model.gate_gradient != "hard_concrete"
        shape = model.gate_gradient, model.temperature, model.gate_samples
        use_gates(self.epochs, BinaryGates(*shape))
