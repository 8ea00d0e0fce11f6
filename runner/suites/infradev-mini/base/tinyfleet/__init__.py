"""tinyfleet: distributed training, serving and reinforcement learning at a size one can read in an evening.

Every rank is a process; ranks talk through `tinyfleet.comm` and compute on `tinyfleet.tensor.Tensor`.
Nothing outside Python's standard library is needed.
"""

__version__ = "1.0.0"
