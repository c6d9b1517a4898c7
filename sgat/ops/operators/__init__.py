"""The fast operations as `torch.library` operators, shared by the CPU and the GPU.

Autograd, `torch.compile` and CUDA graphs see one node for each pass over the edges.
`sgat.ops.cpu` and `sgat.ops.gpu` each have a function of the name of every operator. It
takes the inputs and fills the outputs.

Tested by tests/ops/test_cpu.py, which has torch check every operator, and test_gpu.py.
"""
