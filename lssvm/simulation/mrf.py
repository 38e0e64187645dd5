"""Simulated chains with hidden nodes, for a first random field: the files in data/mrf.

    python -m lssvm.simulation.mrf data/mrf

A chain is y, h, y, h, … with an observed symbol at every node, uniform and independent. Given the
symbols, states are drawn from p(y, h | x) ∝ exp(w · Φ), exactly: a backward pass of sums, then
state after state. Weights of symbols and of neighbours are normal; those of neighbours are
stronger, so that a chain tells more than its nodes apart. The hidden states are not written. A few
labels of the training chains are left out, as if nobody had given them.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from lssvm.output.tables import make_folder
from lssvm.output.whole import replacing

CHAINS = {"train": 60, "test": 60}
PAIRS = 10  # nodes y in a chain, as many h
STATES, SYMBOLS = 3, 4
SYMBOL_SCALE, PAIR_SCALE = 2.0, 3.0
MISSING = {"train": 0.05, "test": 0.0}
SEED = 0


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
    ahead = np.zeros((length, STATES))  # log of the sum over all nodes behind, by state
    for t in range(length - 2, -1, -1):
        ahead[t] = logsumexp(chains.pairs[t % 2] + scores[t + 1] + ahead[t + 1], axis=1)
    states = np.empty(length, dtype=np.int64)
    for t in range(length):
        logs = scores[t] + ahead[t]
        if t:
            logs = logs + chains.pairs[(t - 1) % 2][states[t - 1]]
        states[t] = rng.choice(STATES, p=np.exp(logs - logsumexp(logs)))
    return x, states


def write_chains(folder: Path) -> None:
    """Write train.txt and test.txt. Raises LssvmError if they cannot be written."""
    make_folder(folder)
    rng = np.random.default_rng(SEED)
    chains = drawn(rng)
    for split, count in CHAINS.items():
        with replacing(folder / f"{split}.txt") as file:
            for number in range(1, count + 1):
                x, states = sampled(rng, chains, 2 * PAIRS)
                missing = rng.random(2 * PAIRS) < MISSING[split]
                file.writelines(_lines(f"{split}{number}", x, states, missing))


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Simulated chains with hidden nodes.")
    parser.add_argument("folder", type=Path, help="folder of train.txt and test.txt")
    write_chains(parser.parse_args().folder)
