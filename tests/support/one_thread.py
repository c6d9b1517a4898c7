"""One thread for tests of tiny graphs."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    # Waiting for a second thread takes longer than the work.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
