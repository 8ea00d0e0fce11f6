"""Requirements of the direct weight sync, on two ranks."""

import pytest
import torch
from infradev_report import check_resource, checks
from sync_cases import Ledger, differing, generate, make_weights, whole_weights

from torchfleet import rollout
from torchfleet.dist import init_group
from torchfleet.rollout import RolloutEngine, policy_specs
from torchfleet.weight_sync import WeightSync
from torchfleet.weights import TensorSpec, TrainerShards

VOCABULARY, HIDDEN = 24, 12
STRAIGHT, CROSSED = [0, 1], [1, 0]


def test_memory_stays_within_a_few_buckets(group):
    specs = [TensorSpec("w", (512, 1024), torch.bfloat16, split_dim=1)]
    bucket_bytes = 16384
    source, target = make_weights(group, specs, STRAIGHT, CROSSED)
    sync = WeightSync(group, specs, STRAIGHT, CROSSED, bucket_bytes=bucket_bytes)
    with Ledger() as ledger:
        sync.push(source, target)
    limit = 8 * bucket_bytes * group.world_size + 65536
    with checks("value"):
        assert not differing(target, whole_weights(specs))
    with checks("resource.memory"):
        check_resource("peak_memory", value=ledger.peak_bytes, limit=limit, unit="bytes")


def test_sequences_go_on_with_new_weights(group):
    specs = policy_specs(VOCABULARY, HIDDEN)
    values = [whole_weights(specs, seed) for seed in (0, 1)]
    source, target = make_weights(group, specs, STRAIGHT, STRAIGHT)
    sync, engine = WeightSync(group, specs, STRAIGHT, STRAIGHT), RolloutEngine(group, target)
    sync.push(source, target)
    engine.start([[3, 1, 4], [2]])
    for _ in range(3):
        engine.step()
    halfway = [list(sequence) for sequence in engine.sequences]
    source.load(values[1])
    source.version = 1
    sync.push(source, target)
    for _ in range(4):
        engine.step()
    with checks("state-lifecycle"):
        assert [sequence[-3:] for sequence in halfway] == [generate(values[0], prompt, 3) for prompt in ([3, 1, 4], [2])]
        expected = [sequence + generate(values[1], sequence, 4) for sequence in halfway]
        assert engine.sequences == expected, "sequences go on from what the old weights made of them"
        assert engine.versions == [[0] * 3 + [1] * 4] * 2


def test_a_rollback_reaches_the_rollout_ranks(group):
    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs, STRAIGHT, CROSSED)
    sync = WeightSync(group, specs, STRAIGHT, CROSSED)
    for version in (7, 2):
        source.load(whole_weights(specs, version))
        source.version = version
        sync.push(source, target)
    with checks("state-lifecycle"):
        assert target.version == 2
        assert not differing(target, whole_weights(specs, 2))


class Lost(RuntimeError):
    """Stands for the loss of trainer 0 in the middle of a push."""


class FailingShards(TrainerShards):
    fails = False

    def shard(self, name):
        if self.fails and name == "scale":
            raise Lost
        return super().shard(name)


@pytest.mark.parametrize("group", [5.0], indirect=True, ids=["short-time-out"])
def test_an_interrupted_push_leaves_no_version(group, request):
    incomplete = rollout.WeightsIncomplete  # read here, so that the other probes can be collected without it
    specs = policy_specs(VOCABULARY, HIDDEN)
    old, new = whole_weights(specs, 0), whole_weights(specs, 1)
    source, target = make_weights(group, specs, STRAIGHT, CROSSED, old, FailingShards)
    WeightSync(group, specs, STRAIGHT, CROSSED).push(source, target)
    engine = RolloutEngine(group.alone(), target)
    source.load(new)
    source.version, source.fails = 1, group.rank == 0
    interrupted = False
    try:
        WeightSync(group, specs, STRAIGHT, CROSSED).push(source, target)
    except RuntimeError:
        interrupted = True
    version = target.version
    refused = False
    try:
        engine.start([[1]])
    except incomplete:
        refused = True
    except RuntimeError:
        pass  # the weights were taken for whole, and the group is lost
    source.fails = False
    group.close()
    again = init_group(name=request.node.nodeid + "/again", timeout_s=20.0)
    kept = version == 0 and not differing(target, old)
    WeightSync(again, specs, STRAIGHT, CROSSED).push(source, target)
    again.barrier()
    with checks("condition"):
        assert interrupted
        assert version is None or kept, f"version {version} is claimed after an interrupted push"
        assert refused == (version is None)
    with checks("state-lifecycle"):
        assert target.version == 1 and not differing(target, new)


def test_every_dtype_arrives_exactly(group):
    specs = [
        TensorSpec("ids", (9, 2), torch.int64, split_dim=0, buffer=True),
        TensorSpec("scale", (9,), torch.float64),
        TensorSpec("w", (4, 9), torch.bfloat16, split_dim=1),
        TensorSpec("mask", (9,), torch.bool, buffer=True),
    ]
    values = whole_weights(specs)
    values["ids"] = (torch.arange(18).view(9, 2) + 2**53 + 1) * (-1) ** torch.arange(18).view(9, 2)
    values["mask"] = torch.arange(9) % 2 == 0
    source, target = make_weights(group, specs, STRAIGHT, CROSSED, values)
    WeightSync(group, specs, STRAIGHT, CROSSED).push(source, target)
    with checks("shape-layout-dtype"):
        assert not differing(target, values)


def test_tensors_are_written_in_place_and_shared_with_nobody(group):
    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs, STRAIGHT, STRAIGHT)
    earlier = dict(target.items())
    head = target.tensor("head")
    WeightSync(group, specs, STRAIGHT, STRAIGHT).push(source, target)
    for name, _ in target.items():
        source.shard(name).fill_(0)
    with checks("shape-layout-dtype"):
        assert not differing(target, whole_weights(specs)), "the rollout ranks' tensors changed with the trainers'"
        for name, tensor in target.items():
            assert tensor.data_ptr() == earlier[name].data_ptr(), f"{name} is another tensor after the push"
        assert target.tensor("head").data_ptr() == head.data_ptr() == target.tensor("embedding").data_ptr()
