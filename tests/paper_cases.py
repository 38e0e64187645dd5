"""What the page of the papers reads of the results of an experiment."""

from experiments.papers.comparison import Result, result_of
from experiments.papers.found import Found
from experiments.papers.page import page_of
from experiments.papers.targets import TARGETS

BY_NAME = {target.name: target for target in TARGETS}


def found_of(name, folder):
    """The figures of a target whose results lie in the folder itself."""
    return result_of(BY_NAME[name]._replace(name="."), folder).found


def whole_page():
    """The page with every target run: each of the papers' tables is filled with figures."""
    run = {"seconds": 3.4, "processor_seconds": 12345.6, "commit": "12345678", "changed": True}
    run |= {"quick": True, "jobs": 2, "seeds": {"trials": 0x6D73736D, "resampled bags": 1}}
    results = {}
    for target in TARGETS:
        printed, found = target.printed, None
        if printed:
            row = [(70.0, 1.25)] * len(printed.columns)
            rows = dict.fromkeys((*printed.rows, "another method, chosen by itself"), row)
            found = Found(printed.columns, rows)
        results[target.name] = Result(run, f"{'as printed ' * 20}\n" * 3, found)
    return page_of(results)
