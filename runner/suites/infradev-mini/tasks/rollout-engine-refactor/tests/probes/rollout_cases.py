"""A policy, prompts and settings, and the same rollout by the reference and by the parts."""

from reference_worker import ReferenceWorker

from tinyfleet.rl import Collector, RolloutConfig, RolloutEngine, RolloutWorker, Sampler, TinyPolicy

VOCAB, HIDDEN = 12, 4
END = 9  # a likely token, so that completions end at different lengths
PROMPTS = [(1 + i % 5, 3 + i % 7) for i in range(13)]


def share_of_odd_tokens(prompt, tokens):
    return sum(token % 2 for token in tokens) / len(tokens)


def make_policy(vocab=VOCAB, seed=3, version=0):
    policy = TinyPolicy(vocab, HIDDEN)
    policy.load(TinyPolicy.initial_values(vocab, HIDDEN, seed), version)
    return policy


def make_config(**settings):
    return RolloutConfig(**{"batch_size": 2, "max_new_tokens": 6, "eos_token": END, "seed": 5, **settings})


def make_reference(group, config, prompts=PROMPTS, policy=None):
    return ReferenceWorker(group, policy or make_policy(), prompts, share_of_odd_tokens, config)


def make_collector(group, config, prompts=PROMPTS, policy=None):
    sampler = Sampler(config.seed, group.rank, config.temperature, config.top_k)
    engine = RolloutEngine(
        policy or make_policy(), sampler, config.max_new_tokens, config.eos_token, config.decode_budget
    )
    return Collector(group, engine, prompts, share_of_odd_tokens, config)


def make_worker(group, config, prompts=PROMPTS, policy=None):
    return RolloutWorker(group, policy or make_policy(), prompts, share_of_odd_tokens, config)
