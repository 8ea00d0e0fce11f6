"""Stores with known contents, and which elements a push has to move, worked out element by element."""

from tinyfleet.rl import ShardStore
from tinyfleet.tensor import ITEMSIZES, Tensor


def values(specs, offset=0):
    """Whole flat parameters; no two elements of one parameter are equal, and none is zero."""
    return {
        spec.name: Tensor.of([1 + offset + index for index in range(spec.numel)], spec.master_dtype) for spec in specs
    }


def make_stores(group, specs, trainers, rollouts, offset=0):
    source = target = None
    if trainers.holds(group.rank):
        source = ShardStore(specs, trainers, group.rank, master=True)
        source.load_full(values(specs, offset))
    if rollouts.holds(group.rank):
        target = ShardStore(specs, rollouts, group.rank)
    return source, target


def differing(target, expected):
    """The names of the parameters whose shard in `target` has not the dtype and the values of `expected`."""
    names = []
    for name, spec in target.specs.items():
        start, stop = target.interval(name)
        wanted = expected[name][start:stop].to(spec.dtype).tolist()
        if target.shard(name).dtype != spec.dtype or target.shard(name).tolist() != wanted:
            names.append(name)
    return names


def bytes_to_send(specs, trainers, rollouts, rank):
    """Bytes that `rank` has to send if no rollout rank has anything."""
    if not trainers.holds(rank):
        return 0
    total = 0
    for spec in specs:
        own = set(range(*trainers.interval(spec.numel, rank)))
        for dst in rollouts.ranks:
            if dst != rank:
                total += ITEMSIZES[spec.dtype] * len(own.intersection(range(*rollouts.interval(spec.numel, dst))))
    return total
