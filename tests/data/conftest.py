import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse


@pytest.fixture
def user_cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder in place of the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sgat" / "datasets"


@pytest.fixture
def web(tmp_path) -> Iterator[tuple[str, Path]]:
    """Address and folder of a small web server on this machine."""
    folder = tmp_path / "web"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()
    thread.join()


WIDTH, LABELS = 11, 5


def ppi_files(root: Path) -> Path:
    """Files of PPI's format: 3 training graphs, 2 for validation, 1 for test."""
    raw = root / "PPI" / "raw"
    raw.mkdir(parents=True)
    generator = np.random.default_rng(0)
    for role, sizes in (("train", (7, 5, 3)), ("valid", (4, 6)), ("test", (13,))):
        graph_id = np.repeat(np.arange(1, len(sizes) + 1), sizes)
        links, first = [], 0
        for size in sizes:
            links += [
                {"source": first + i, "target": first + i + 1} for i in range(size - 1)
            ]
            links.append({"source": first, "target": first})
            first += size
        total = sum(sizes)
        document = {
            "directed": False,
            "multigraph": False,
            "graph": {},
            "nodes": [{"id": node} for node in range(total)],
            "links": links,
        }
        (raw / f"{role}_graph.json").write_text(json.dumps(document))
        np.save(raw / f"{role}_graph_id.npy", graph_id)
        np.save(raw / f"{role}_feats.npy", generator.random((total, WIDTH)))
        np.save(raw / f"{role}_labels.npy", generator.integers(0, 2, (total, LABELS)))
    return raw


def reddit_files(root: Path) -> Path:
    """Files of Reddit's format: a ring of 17 posts with one loop, both directions."""
    raw = root / "Reddit" / "raw"
    raw.mkdir(parents=True)
    size = 17
    here, there = np.arange(size), (np.arange(size) + 1) % size
    row = np.concatenate([here, there, [3]])
    column = np.concatenate([there, here, [3]])
    matrix = scipy.sparse.coo_matrix(
        (np.ones(len(row)), (row, column)), shape=(size, size)
    )
    scipy.sparse.save_npz(raw / "reddit_graph.npz", matrix)
    np.savez(
        raw / "reddit_data.npz",
        feature=np.arange(1.0, size * WIDTH + 1).reshape(size, WIDTH),
        label=np.arange(size) % LABELS,
        node_types=np.array([1] * 10 + [2] * 4 + [3] * 3),
    )
    return raw


@pytest.fixture
def write_ppi() -> Callable[[Path], Path]:
    return ppi_files


@pytest.fixture
def write_reddit() -> Callable[[Path], Path]:
    return reddit_files
