"""Trainers to save and load, and what of them a checkpoint has to bring back."""

import torch

from torchfleet.model import Config, Transformer
from torchfleet.trainer import Trainer

SMALL = {"width": 16, "heads": 2, "blocks": 1, "length": 8, "vocabulary": 11}
LARGE = {"width": 256, "heads": 4, "blocks": 2, "length": 8, "vocabulary": 16}


def make_trainer(group, dtype=torch.float32, sizes=SMALL):
    return Trainer(Transformer(Config(**sizes, dtype=dtype), group.alone(), seed=2), group)


def trained(group, dtype=torch.float32, steps=3):
    trainer = make_trainer(group, dtype)
    for _ in range(steps):
        trainer.train_step()
    return trainer


def whole_state(trainer):
    """Master weights, mean and square of all shards, on the CPU."""
    size = trainer.optimizer.layout.shard_size(trainer.group.world_size)
    tensors = (trainer.optimizer.master, trainer.optimizer.mean, trainer.optimizer.square)
    padded = [torch.nn.functional.pad(tensor, (0, size - tensor.numel())) for tensor in tensors]
    return [trainer.group.all_gather(tensor)[: trainer.optimizer.layout.numel].cpu() for tensor in padded]


def own_state(trainer):
    """Copies of everything that this rank's trainer holds."""
    optimizer = trainer.optimizer
    tensors = [optimizer.master, optimizer.mean, optimizer.square, *trainer.model.parameters()]
    return [tensor.detach().clone() for tensor in tensors], optimizer.steps, trainer.data.drawn


def same(one, other):
    return one[1:] == other[1:] and all(torch.equal(a, b) for a, b in zip(one[0], other[0]))


def differences(trainer, expected):
    """Names of the tensors that differ from a whole state, in any bit on any rank."""
    names = ("master", "mean", "square")
    wrong = [name for name, own, whole in zip(names, whole_state(trainer), expected) if not torch.equal(own, whole)]
    return sorted({name for names in trainer.group.gather_objects(wrong) for name in names})
