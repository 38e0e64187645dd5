"""The time that other libraries need for the problems of mrf_pass.py, where they are installed.

pip install pgmpy torch torch-struct dynamax
pip install pgmax 'jax==0.4.28' 'jaxlib==0.4.28' 'numpy<2'   (PGMax 0.6.1 needs this old JAX)
"""

import importlib
import itertools
import time
import warnings

import numpy as np


def measured(run, repeats=5):
    """The median CPU time and wall time of a call, in seconds, after a first call that compiles."""
    run()
    found = []
    for _ in range(repeats):
        began, used = time.perf_counter(), time.process_time()
        run()
        found.append((time.process_time() - used, time.perf_counter() - began))
    return tuple(np.median(found, axis=0).tolist())


def installed(*names):
    """The modules, or None after a printed line that says which one is missing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [importlib.import_module(name) for name in names]
    except ImportError as error:
        print(f"{names[0]}: not installed ({error})")
        return None


def chains_by_torch_struct(count, length, states, rng):
    """Marginals of chains by automatic differentiation of a scan, with one thread and with two."""
    modules = installed("torch_struct", "torch")
    if modules is None:
        return
    struct, torch = modules
    scores = torch.tensor(rng.normal(size=(count, length - 1, states, states)))
    for threads in (1, 2):
        torch.set_num_threads(threads)
        yield (
            f"torch-struct, {threads} threads",
            measured(lambda: struct.LinearChainCRF(scores).marginals),
        )


def chains_by_dynamax(count, length, states, rng):
    """Smoothing of hidden Markov models with different transitions at every step."""
    modules = installed("dynamax.hidden_markov_model", "jax")
    if modules is None:
        return
    models, jax = modules
    jax.config.update("jax_enable_x64", True)
    steps = rng.random((count, length - 1, states, states))
    inputs = (
        np.full((count, states), 1 / states),
        steps / steps.sum(axis=-1, keepdims=True),
        rng.normal(size=(count, length, states)),
    )
    smoother = jax.jit(jax.vmap(models.hmm_two_filter_smoother))
    inputs = [jax.numpy.asarray(part) for part in inputs]
    yield (
        "dynamax, all threads",
        measured(lambda: jax.block_until_ready(smoother(*inputs).smoothed_probs)),
    )


def chains_by_pgmpy(count, length, states, rng):
    """Calibration of one chain's junction tree; its time is multiplied by the number of chains."""
    modules = installed("pgmpy.models", "pgmpy.factors.discrete", "pgmpy.inference")
    if modules is None:
        return
    models, factors, inference = modules
    kind = getattr(models, "DiscreteMarkovNetwork", None) or models.MarkovNetwork
    graph = kind([(str(t), str(t + 1)) for t in range(length - 1)])
    for a, b in itertools.pairwise(map(str, range(length))):
        table = rng.random(states * states) + 0.1
        graph.add_factors(factors.DiscreteFactor([a, b], [states, states], table))
    cpu, wall = measured(lambda: inference.BeliefPropagation(graph).calibrate(), 1)
    yield "pgmpy, one chain", (count * cpu, count * wall)


def grids_by_pgmax(count, shape, states, sweeps, rng):
    """Loopy belief propagation; every sweep updates all messages at once."""
    modules = installed("pgmax.fgraph", "pgmax.fgroup", "pgmax.vgroup", "pgmax.infer", "jax")
    if modules is None:
        return
    graphs, factors, variables, infer, jax = modules
    if not hasattr(jax.lib, "xla_bridge"):
        print(f"pgmax: does not run with JAX {jax.__version__}")
        return
    nodes = variables.NDVarArray(num_states=states, shape=shape)
    graph = graphs.FactorGraph(variable_groups=nodes)
    rows, columns = shape
    pairs = [[nodes[a, b], nodes[a + 1, b]] for a in range(rows - 1) for b in range(columns)]
    pairs += [[nodes[a, b], nodes[a, b + 1]] for a in range(rows) for b in range(columns - 1)]
    tables = rng.normal(size=(len(pairs), states, states))
    graph.add_factors(factors.PairwiseFactorGroup(pairs, tables))
    loopy = infer.build_inferer(graph.bp_state, backend="bp")
    unary = jax.numpy.asarray(rng.normal(size=(count, rows, columns, states)))

    @jax.jit
    @jax.vmap
    def run(own):
        arrays = loopy.run(loopy.init(evidence_updates={nodes: own}), num_iters=sweeps)
        return loopy.get_beliefs(arrays)[nodes]

    yield "pgmax, all threads", measured(lambda: jax.block_until_ready(run(unary)), 2)
