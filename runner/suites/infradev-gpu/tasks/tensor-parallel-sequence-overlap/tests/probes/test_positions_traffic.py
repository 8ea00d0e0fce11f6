"""Traffic of sequence parallelism, counted from outside of the four ranks."""

import torch

from torchfleet.model import Config, Transformer


def test_bytes_of_a_pass(group):
    config = Config(width=64, heads=4, blocks=2, length=256, vocabulary=11, sequence_parallel=True)
    model = Transformer(config, group)
    loss = model.loss(torch.arange(16 * 257, device=group.device).view(16, 257) % 11)
    loss.backward()
    model.finish_gradients()
    assert torch.isfinite(loss)
