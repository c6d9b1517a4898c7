"""Where to draw the nodes: a force-directed layout, fast and the same every time.

Springs along the edges pull, all pairs of nodes push (Jacomy et al., 2014):

    pull_ij = w_ij (x_j - x_i)
    push_ij = (d_i + 1) (d_j + 1) (x_i - x_j) / |x_i - x_j|²

The pushes are a convolution of the nodes' masses with x / |x|², so masses are put on a
mesh, convolved there by fast Fourier transforms, and read off again: a step costs the
same for a hundred nodes or fifty thousand, and nothing has to be compiled.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import fft, sparse
from scipy.spatial import cKDTree

Array = np.ndarray[Any, Any]

MESH = 256
"""Cells of the mesh along each axis."""
STEPS = 260
GRAVITY = 0.6
"""Pull of every node towards the middle, which holds the components together."""
EXACT = 600
"""Nodes up to which every pair is looked at."""


def layout_nodes(
    src: Array, dst: Array, num_nodes: int, weight: Array | None = None
) -> Array:
    """Positions from -1 to 1 with neighbours near each other, [N, 2] float32.

    Directions do not matter, `weight` is the strength of each edge's spring, [E], and
    nodes without edges are put around the rest. The same input has the same positions.
    """
    if num_nodes == 0:
        return np.zeros((0, 2), dtype=np.float32)
    strength = np.ones(len(src)) if weight is None else np.asarray(weight, dtype=float)
    matrix = sparse.csr_array((strength, (dst, src)), shape=(num_nodes, num_nodes))
    # Both directions of an edge are one spring.
    springs = matrix.maximum(matrix.T).tocsr()
    joined = np.diff(springs.indptr) > 0
    place = np.zeros((num_nodes, 2))
    if joined.any():
        inner = springs[joined][:, joined].tocsr()
        place[joined] = _arranged(inner)
    reach = float(np.abs(place).max(initial=0)) or 1.0
    place[~joined] = _ring(int((~joined).sum()), 1.06 * reach, joined.any())
    place -= (place.max(axis=0) + place.min(axis=0)) / 2
    return (place / (np.abs(place).max() or 1)).astype(np.float32)


def _ring(number: int, radius: float, is_around: bool) -> Array:
    """Nodes without edges: rings around the rest, or a spiral if they are all."""
    place = np.arange(number)
    angle, radii = place * np.pi * (3 - np.sqrt(5)), np.sqrt(place + 0.5)
    if is_around:
        per_ring = max(180, number // 6)
        angle = 2 * np.pi * place / min(max(number, 1), per_ring)
        radii = radius * (1 + 0.04 * (place // per_ring))
    return np.stack([np.cos(angle) * radii, np.sin(angle) * radii], axis=1)


def _arranged(springs: Any) -> Array:
    size = springs.shape[0]
    mass = np.asarray(np.diff(springs.indptr) + 1, dtype=float)
    strength = springs.sum(axis=1)
    place = _start(springs) * np.sqrt(size) * 4
    push = _push_exactly if size <= EXACT else _mesh_push()
    before = np.zeros_like(place)
    speed = 1.0
    for step in range(STEPS):
        force = push(place, mass)
        force += springs @ place - strength[:, None] * place
        # A constant pull would let far components drift; a linear one bunches them.
        distance = np.linalg.norm(place, axis=1, keepdims=True)
        force -= GRAVITY * mass[:, None] * place / np.maximum(distance, 1) ** 0.5
        # Nodes that shake go slowly, nodes that know their way go fast.
        swing = np.linalg.norm(force - before, axis=1)
        drive = np.linalg.norm(force + before, axis=1) / 2
        wanted = (mass @ drive) / max(float(mass @ swing), 1e-9)
        speed = min(wanted, 1.5 * speed, 10.0)
        damping = speed / (1 + speed * np.sqrt(swing))
        cooling = 1 - 0.9 * step / STEPS
        place += force * (damping * cooling)[:, None]
        before = force
    return _apart(place)


def _start(springs: Any) -> Array:
    """Smooth random numbers along the edges: near the slowest two eigenvectors."""
    size = springs.shape[0]
    place = np.random.default_rng(0).standard_normal((size, 2))
    degree = springs.sum(axis=1)
    for step in range(60):
        place = 0.5 * (place + (springs @ place) / degree[:, None])
        if step % 10 == 9:
            place -= np.average(place, axis=0, weights=degree)
            place, _ = np.linalg.qr(place) if size > 1 else (place, None)
    spread = place.std(axis=0)
    place = place / np.where(spread > 0, spread, 1)
    # A few nodes far out would leave all others in one spot.
    return np.sign(place) * np.log1p(np.abs(place)) / 2


def _push_exactly(place: Array, mass: Array) -> Array:
    norm = (place**2).sum(axis=1)
    square = norm[:, None] + norm[None, :] - 2 * place @ place.T
    weight = mass[:, None] * mass[None, :] / np.maximum(square, 0.01)
    return np.asarray(weight.sum(axis=1, keepdims=True) * place - weight @ place)


def _mesh_push() -> Callable[[Array, Array], Array]:
    """`_push_on_mesh` with the transforms of x / |x|², softened within a cell."""
    offset = fft.fftfreq(2 * MESH, 1 / (2 * MESH))
    x, y = np.meshgrid(offset, offset, indexing="ij")
    square = x**2 + y**2 + 0.25
    square[0, 0] = 1
    spectra = [fft.rfft2(side / square) for side in (x, y)]
    return lambda place, mass: _push_on_mesh(place, mass, spectra)


def _push_on_mesh(place: Array, mass: Array, spectra: Sequence[Array]) -> Array:
    low = place.min(axis=0)
    cell = max(float((place.max(axis=0) - low).max()) / (MESH - 2), 1e-9)
    scaled = (place - low) / cell
    corner = scaled.astype(int)
    part = scaled - corner
    density = np.zeros(MESH * MESH)
    shares = []
    for right in (0, 1):
        for up in (0, 1):
            share = np.abs(1 - right - part[:, 0]) * np.abs(1 - up - part[:, 1])
            index = (corner[:, 0] + right) * MESH + corner[:, 1] + up
            density += np.bincount(index, share * mass, MESH * MESH)
            shares.append((index, share))
    spectrum = fft.rfft2(density.reshape(MESH, MESH), s=(2 * MESH, 2 * MESH))
    force = np.zeros_like(place)
    for axis, kernel in enumerate(spectra):
        field = fft.irfft2(spectrum * kernel)[:MESH, :MESH].ravel() / cell
        for index, share in shares:
            force[:, axis] += share * field[index]
    return force * mass[:, None]


def _apart(place: Array) -> Array:
    """Move nodes that lie on each other a little apart."""
    extent = float(np.ptp(place, axis=0).max()) or 1.0
    wanted = min(0.45 / np.sqrt(len(place)), 0.05) * extent
    random = np.random.default_rng(1)
    place = place + random.standard_normal(place.shape) * 1e-4 * extent
    for _ in range(12):
        pairs = cKDTree(place).query_pairs(wanted, output_type="ndarray")
        if not len(pairs):
            break
        one, other = pairs[:, 0], pairs[:, 1]
        offset = place[one] - place[other]
        distance = np.maximum(np.linalg.norm(offset, axis=1), 1e-9)
        move = offset * ((wanted - distance) / distance * 0.25)[:, None]
        for axis in (0, 1):
            place[:, axis] += np.bincount(one, move[:, axis], len(place))
            place[:, axis] -= np.bincount(other, move[:, axis], len(place))
    return place
