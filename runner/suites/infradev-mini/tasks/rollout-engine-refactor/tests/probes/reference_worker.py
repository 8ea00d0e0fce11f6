"""The rollout worker as it was before it was split: what the parts are compared with, bit for bit."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from tinyfleet.rl.buffer import Trajectory
from tinyfleet.tensor import Tensor

STATE_FORMAT = 1


@dataclass
class _Slot:
    """One completion in the making."""

    prompt_index: int
    sample: int
    policy_version: int
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class ReferenceWorker:
    """Rolls `policy` out over `prompts` on every rank of `group`.

    All ranks see the same prompts in the same order, shuffled anew for each epoch; of every
    `batch_size * world_size` prompts a rank takes each `world_size`-th one.  The last batch of an epoch may be
    smaller, down to nothing on some ranks.  Every rank samples from a random stream of its own.
    """

    def __init__(
        self,
        group,
        policy,
        prompts,
        reward_fn,
        config,
    ) -> None:
        if not prompts:
            raise ValueError("ReferenceWorker: prompts is empty; give at least one prompt")
        self.group = group
        self.policy = policy
        self.prompts = [tuple(prompt) for prompt in prompts]
        self.reward_fn = reward_fn
        self.config = config
        self.epoch = 0
        self.cursor = 0
        self._rng = random.Random(f"{config.seed}/sample/{group.rank}")
        self._unfinished: list[_Slot] = []

    def collect(self) -> list[Trajectory]:
        """Decode the next batch and return what finished on this rank.

        Completions that an earlier call began come first, then the new ones by prompt and sample.  Every rank of the
        group must call this together; one all-reduce of three numbers is all that travels.
        """
        config = self.config
        world_size = self.group.world_size

        # Take this rank's prompts of the next global batch.
        order = list(range(len(self.prompts)))
        random.Random(f"{config.seed}/order/{self.epoch}").shuffle(order)
        stop = min(self.cursor + config.batch_size * world_size, len(order))
        batch = order[self.cursor : stop][self.group.rank :: world_size]
        self.cursor = stop
        if self.cursor == len(order):
            self.epoch += 1
            self.cursor = 0
        slots = list(self._unfinished)
        for prompt_index in batch:
            for sample in range(config.samples_per_prompt):
                slots.append(_Slot(prompt_index, sample, self.policy.version))

        # Decode all live slots step by step.
        live = list(slots)
        steps = 0
        while live and (config.decode_budget == 0 or steps < config.decode_budget):
            still_live = []
            for slot in live:
                logits = self.policy.logits(self.prompts[slot.prompt_index], slot.tokens)
                highest = max(logits)
                log_normalizer = highest + math.log(sum(math.exp(x - highest) for x in logits))
                if config.temperature == 0:
                    token = logits.index(highest)
                else:
                    candidates = list(range(len(logits)))
                    if 0 < config.top_k < len(logits):
                        # Equal logits: the lower token stays.
                        candidates.sort(key=lambda token: (-logits[token], token))
                        candidates = sorted(candidates[: config.top_k])
                    weights = [math.exp((logits[c] - highest) / config.temperature) for c in candidates]
                    threshold = self._rng.random() * sum(weights)
                    token = candidates[-1]
                    for candidate, weight in zip(candidates, weights):
                        threshold -= weight
                        if threshold < 0:
                            token = candidate
                            break
                # The trainer's importance ratio needs the policy's own probability, not the sampler's.
                slot.tokens.append(token)
                slot.logprobs.append(logits[token] - log_normalizer)
                if token != config.eos_token and len(slot.tokens) < config.max_new_tokens:
                    still_live.append(slot)
            live = still_live
            steps += 1
        alive = {id(slot) for slot in live}
        finished = [slot for slot in slots if id(slot) not in alive]
        self._unfinished = live

        # Score, and normalise over all ranks, those without a finished completion included.
        rewards = [self.reward_fn(self.prompts[slot.prompt_index], slot.tokens) for slot in finished]
        moments = Tensor.of([sum(rewards), sum(r * r for r in rewards), len(rewards)], dtype="f8")
        total, total_squared, count = self.group.all_reduce(moments).tolist()
        mean = total / count if count else 0.0
        variance = max(total_squared / count - mean * mean, 0.0) if count else 0.0
        scale = 1.0 / (math.sqrt(variance) + 1e-6)
        return [
            Trajectory(
                prompt_index=slot.prompt_index,
                sample=slot.sample,
                rank=self.group.rank,
                prompt=self.prompts[slot.prompt_index],
                tokens=tuple(slot.tokens),
                logprobs=tuple(slot.logprobs),
                reward=reward,
                advantage=(reward - mean) * scale,
                policy_version=slot.policy_version,
            )
            for slot, reward in zip(finished, rewards)
        ]

    def state_dict(self) -> dict[str, object]:
        """Everything needed to go on from here, as JSON values."""
        version, internal, gauss = self._rng.getstate()
        return {
            "format": STATE_FORMAT,
            "rank": self.group.rank,
            "world_size": self.group.world_size,
            "epoch": self.epoch,
            "cursor": self.cursor,
            "rng": [version, list(internal), gauss],
            "unfinished": [
                {
                    "prompt_index": slot.prompt_index,
                    "sample": slot.sample,
                    "policy_version": slot.policy_version,
                    "tokens": list(slot.tokens),
                    "logprobs": list(slot.logprobs),
                }
                for slot in self._unfinished
            ],
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Go on from `state`, which the same rank of a group of the same size must have written.

        ValueError, with nothing changed, for a state of another format, rank or world size.
        """
        expected = {"format": STATE_FORMAT, "rank": self.group.rank, "world_size": self.group.world_size}
        for key, value in expected.items():
            if state.get(key) != value:
                raise ValueError(
                    f"ReferenceWorker.load_state_dict: {key} is {state.get(key)!r}, expected {value!r}; "
                    "load the state that this rank wrote in a run of the same world size"
                )
        version, internal, gauss = state["rng"]
        rng = random.Random()
        rng.setstate((version, tuple(internal), gauss))
        unfinished = [
            _Slot(
                prompt_index=entry["prompt_index"],
                sample=entry["sample"],
                policy_version=entry["policy_version"],
                tokens=list(entry["tokens"]),
                logprobs=list(entry["logprobs"]),
            )
            for entry in state["unfinished"]
        ]
        self.epoch = state["epoch"]
        self.cursor = state["cursor"]
        self._rng = rng
        self._unfinished = unfinished
