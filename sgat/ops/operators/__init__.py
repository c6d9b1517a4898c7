"""The fast operations as `torch.library` operators, shared by the CPU and the GPU.

Autograd, `torch.compile` and CUDA graphs see one node for each pass over the edges:

    slotted_edges.py   the open edges, and the operations a user calls over them
    gates.py           the slots of open edges, the gate pass that fills them
    aggregate.py       the sums over open edges; their gradient
    project.py         dropout and projection of features; their gradient
    pieces.py          long rows cut into pieces, which the graph or the features own
    operator.py        how such an operator is defined

`sgat.ops.cpu` and `sgat.ops.gpu` each have a function of the name of every operator. It
takes the inputs and fills the outputs.

Tested by tests/ops/test_cpu.py and tests/ops/test_gpu.py, for both alike.
"""
