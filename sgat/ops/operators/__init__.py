"""The fast operations as `torch.library` operators, shared by the CPU and the GPU."""
