import pytest
import torch


@pytest.fixture(autouse=True, scope="package")
def _one_thread():
    # Graphs are tiny here: waiting for a second thread takes longer than the work.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
