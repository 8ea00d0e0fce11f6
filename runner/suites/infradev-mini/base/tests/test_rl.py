"""Reinforcement learning: rollout, weight sync and the loop, on however many ranks run the tests."""

import json
import math

import pytest

from tinyfleet.rl import (
    LoopConfig,
    ParamSpec,
    RLLoop,
    RolloutConfig,
    RolloutWorker,
    ShardLayout,
    ShardStore,
    TinyPolicy,
    Trajectory,
    TrajectoryBuffer,
    WeightSync,
)
from tinyfleet.tensor import Tensor

VOCAB, HIDDEN = 12, 4
PROMPTS = [(1 + i % 5, 3 + i % 7) for i in range(13)]


def make_policy(version=0):
    policy = TinyPolicy(VOCAB, HIDDEN)
    policy.load(TinyPolicy.initial_values(VOCAB, HIDDEN, seed=3), version)
    return policy


def reward_odd_tokens(prompt, tokens):
    return sum(token % 2 for token in tokens) / len(tokens)


def make_worker(group, **settings):
    config = RolloutConfig(batch_size=2, max_new_tokens=6, seed=5, **settings)
    return RolloutWorker(group, make_policy(), PROMPTS, reward_odd_tokens, config)


def test_an_epoch_takes_every_prompt_once(group):
    worker = make_worker(group, samples_per_prompt=2)
    seen = []
    while worker.epoch == 0:
        seen += [(t.prompt_index, t.sample) for t in worker.collect()]
    everywhere = sorted(pair for part in group.all_gather(seen) for pair in part)
    assert everywhere == [(index, sample) for index in range(len(PROMPTS)) for sample in range(2)]


def test_advantages_are_normalised_over_all_ranks(group):
    parts = group.all_gather(make_worker(group, samples_per_prompt=3).collect())
    advantages = [t.advantage for part in parts for t in part]
    mean = sum(advantages) / len(advantages)
    variance = sum((a - mean) ** 2 for a in advantages) / len(advantages)
    assert mean == pytest.approx(0.0, abs=1e-9)
    assert variance == pytest.approx(1.0, abs=1e-3)


def test_greedy_rollout_does_not_depend_on_the_seed(group):
    first = make_worker(group, temperature=0.0).collect()
    config = RolloutConfig(batch_size=13, max_new_tokens=6, temperature=0.0, seed=6)
    other = RolloutWorker(group, make_policy(), PROMPTS, reward_odd_tokens, config)
    tokens = {t.prompt_index: t.tokens for part in group.all_gather(other.collect()) for t in part}
    assert first and all(tokens[t.prompt_index] == t.tokens for t in first)


def test_logprobs_are_the_policys_own(group):
    policy = make_policy()
    for trajectory in make_worker(group, temperature=0.7, top_k=4).collect():
        for position, token in enumerate(trajectory.tokens):
            logits = policy.logits(trajectory.prompt, trajectory.tokens[:position])
            expected = logits[token] - math.log(sum(map(math.exp, logits)))
            assert trajectory.logprobs[position] == pytest.approx(expected, abs=1e-9)


def test_a_resumed_worker_goes_on_as_if_nothing_had_happened(group):
    straight = make_worker(group, decode_budget=2)
    for _ in range(2):
        straight.collect()
    state = json.loads(json.dumps(straight.state_dict()))
    resumed = make_worker(group, decode_budget=2)
    resumed.load_state_dict(state)
    for _ in range(4):
        assert resumed.collect() == straight.collect()
    assert resumed.state_dict() == straight.state_dict()


def test_a_state_of_another_rank_is_refused(group):
    worker = make_worker(group)
    before = worker.state_dict()
    with pytest.raises(ValueError, match="rank"):
        worker.load_state_dict({**before, "rank": group.rank + 1})
    assert worker.state_dict() == before


def test_layout_cuts_uneven_sizes():
    layout = ShardLayout((4, 0, 2), 3)
    assert [layout.interval(7, rank) for rank in (4, 0, 2)] == [(0, 3), (3, 5), (5, 7)]
    assert [layout.interval(1, rank) for rank in (4, 0, 2)] == [(0, 1), (1, 1), (1, 1)]
    with pytest.raises(ValueError, match="replicas"):
        ShardLayout((0, 1, 2), 2)


def test_buffer_is_bounded_and_drops_stale_trajectories():
    def trajectory(version):
        return Trajectory(0, 0, 0, (1,), (2,), (0.0,), 1.0, 0.0, version)

    buffer = TrajectoryBuffer(3)
    buffer.add(trajectory(version) for version in range(5))
    assert len(buffer) == 3
    assert buffer.drop_stale(3) == 1
    assert [t.policy_version for t in buffer.take(5)] == [3, 4]


def test_weight_sync_reshards(group):
    world = group.world_size
    specs = [ParamSpec("w", (5, 7)), ParamSpec("b", (3,), "f8"), ParamSpec("step", (), "i8")]
    values = {"w": Tensor.of([i / 3 for i in range(35)]), "b": Tensor.of([1, 2, 3]), "step": Tensor.of([9], "i8")}
    trainers = ShardLayout.sharded(tuple(range(world)))
    rollouts = ShardLayout.replicated(tuple(range(world))[::-1][: max(1, world // 2)])
    source = ShardStore(specs, trainers, group.rank, master=True)
    source.load_full(values)
    target = ShardStore(specs, rollouts, group.rank) if rollouts.holds(group.rank) else None
    WeightSync(group, specs, trainers, rollouts).push(source, target)
    if target is not None:
        for spec in specs:
            assert target.shard(spec.name).dtype == spec.dtype
            assert target.shard(spec.name).tolist() == values[spec.name].to(spec.dtype).tolist()


@pytest.mark.parametrize("colocated", [True, False])
def test_the_loop_learns(group, colocated):
    ranks = tuple(range(group.world_size))
    if not colocated and group.world_size == 1:
        pytest.skip("separate roles need two ranks")
    half = (group.world_size + 1) // 2
    config = LoopConfig(
        vocab=VOCAB,
        hidden=HIDDEN,
        trainer_ranks=ranks if colocated else ranks[:half],
        rollout_ranks=ranks if colocated else ranks[half:],
        rollout=RolloutConfig(batch_size=4, max_new_tokens=3, samples_per_prompt=3, seed=1),
        learning_rate=0.5,
    )
    loop = RLLoop(group, PROMPTS, reward_odd_tokens, config)
    reports = [loop.iterate() for _ in range(6)]
    assert [report.version for report in reports] == list(range(1, 7))
    assert sum(r.mean_reward for r in reports[-2:]) > sum(r.mean_reward for r in reports[:2])
    if loop.worker is not None:
        assert loop.worker.policy.version == 6
        assert loop.worker.policy.params["updates"].item() == 6
