"""Simulated chains with hidden nodes, for a first random field: the files in data/mrf.

    lssvm simulate mrf --out data/mrf

A chain is y, h, y, h, … with an observed symbol at every node, uniform and independent. Given the
symbols, states are drawn exactly from p(y, h | x) ∝ exp(w · Φ): by a backward pass of sums, then
state after state. Weights of symbols and of neighbours are normal; those of neighbours are larger,
so that a chain contains more information than its nodes do separately. The hidden states are not
written. A few labels of the training chains are missing.

The rule with the smallest expected error takes, at each node y, the state with the largest marginal
probability p(y_t | x) under the true weights, the hidden states summed out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

STATES, SYMBOLS = 3, 4
SYMBOL_SCALE, PAIR_SCALE = 2.0, 3.0
MISSING = {"train": 0.05, "test": 0.0}


@dataclass(frozen=True)
class Chains:
    """Weights of alternating chains.

    symbols : (2, SYMBOLS, STATES) of symbol and state, for y and for h
    pairs : (2, STATES, STATES) of neighbours, y before h and h before y
    """

    symbols: np.ndarray
    pairs: np.ndarray


def drawn(rng: np.random.Generator) -> Chains:
    """Random weights."""
    return Chains(
        rng.normal(0.0, SYMBOL_SCALE, (2, SYMBOLS, STATES)),
        rng.normal(0.0, PAIR_SCALE, (2, STATES, STATES)),
    )


def sampled(rng: np.random.Generator, chains: Chains, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Symbols and states of one chain of ``length`` nodes, (length,) each."""
    x = rng.integers(0, SYMBOLS, length)
    scores = chains.symbols[np.arange(length) % 2, x]
    ahead = _ahead(chains, scores)
    states = np.empty(length, dtype=np.int64)
    for t in range(length):
        logs = scores[t] + ahead[t]
        if t:
            logs = logs + chains.pairs[(t - 1) % 2][states[t - 1]]
        states[t] = rng.choice(STATES, p=np.exp(logs - logsumexp(logs)))
    return x, states


def log_marginals(chains: Chains, x: np.ndarray) -> np.ndarray:
    """ln p(state of node t | x) for every node, (length, STATES), exactly."""
    scores = chains.symbols[np.arange(len(x)) % 2, x]
    behind = np.zeros_like(scores)  # log of the sum over all nodes before, by state
    for t in range(1, len(x)):
        before = (scores[t - 1] + behind[t - 1])[:, None] + chains.pairs[(t - 1) % 2]
        behind[t] = logsumexp(before, axis=0)
    logs = behind + scores + _ahead(chains, scores)
    return logs - logsumexp(logs, axis=1, keepdims=True)


def _ahead(chains: Chains, scores: np.ndarray) -> np.ndarray:
    """Log of the sum over all nodes behind each node, by its state, (length, STATES)."""
    ahead = np.zeros_like(scores)
    for t in range(len(scores) - 2, -1, -1):
        ahead[t] = logsumexp(chains.pairs[t % 2] + scores[t + 1] + ahead[t + 1], axis=1)
    return ahead


def write_chains(
    folder: Path, *, seed: int = 0, n: int = 60, n_test: int = 60, pairs: int = 10
) -> str:
    """Write train.txt and test.txt; returns the error of the best possible rule on the test set.

    n, n_test : chains; pairs : number of nodes y of a chain, which has as many h. Raises LssvmError
    if one of them is below 1, or if files cannot be written.
    """
    begin(folder, n=n, n_test=n_test, pairs=pairs)
    rng = np.random.default_rng(seed)
    chains = drawn(rng)
    for split, count in {"train": n, "test": n_test}.items():
        wrong = []
        with replacing(folder / f"{split}.txt") as file:
            for number in range(1, count + 1):
                x, states = sampled(rng, chains, 2 * pairs)
                missing = rng.random(2 * pairs) < MISSING[split]
                file.writelines(_lines(f"{split}{number}", x, states, missing))
                wrong.append((log_marginals(chains, x).argmax(axis=1) != states)[::2])
    return (
        "test.txt with the best possible rule, the largest marginals under the true weights:\n"
        f"error {100 * np.mean(wrong):.6g}"
    )


def _lines(name: str, x: np.ndarray, states: np.ndarray, missing: np.ndarray) -> Iterator[str]:
    yield f"graph {name}\n"
    names = [f"{'yh'[t % 2]}{t // 2 + 1}" for t in range(len(x))]
    for t, (node, symbol) in enumerate(zip(names, x, strict=True)):
        label = "-" if t % 2 else "?" if missing[t] else str(states[t])
        yield f"node {node} {node[0]} {STATES} {label} {symbol + 1}:1\n"
    for t in range(1, len(x)):
        kind = f"{names[t - 1][0]}{names[t][0]}"
        yield f"edge {names[t - 1]} {names[t]} {kind}\n"
    yield "\n"


CONFIGURATION = """\
# Random fields with hidden nodes: simulated chains y, h, y, h, …; h is never observed.
# lssvm-learn mrf.yaml mrf.model
application: {name: mrf}
data: {train: train.txt, validate: test.txt, test: test.txt}
objective: {model: mssvm, C: 0.1}
seed: 0
"""
SIMULATION = Simulation(
    text="Chains in which every other node is hidden, drawn from an exponential family.",
    options=(
        Option("n", 60, "Training chains."),
        Option("n_test", 60, "Test chains."),
        Option("pairs", 10, "Output nodes per chain; there are as many hidden nodes."),
    ),
    data=("train.txt", "test.txt"),
    configurations={"mrf.yaml": CONFIGURATION},
    write=write_chains,
)
