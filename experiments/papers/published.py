"""The figures that the papers print; each table stands here once.

The experiments show them under their own tables, and ``compared`` sets them beside what was found.
Tsochantaridis et al. (ICML 2004) have more tables than stand here: the digits of most of them are
missing in the copy of the paper that we have, and a figure that cannot be read is not given.
"""

from collections.abc import Mapping
from typing import NamedTuple

PING = "Ping, Liu & Ihler 2014"
YU = "Yu & Joachims 2009"
TSOCHANTARIDIS = "Tsochantaridis et al. 2004"
KUMAR = "Kumar, Packer & Koller 2010"
HAFFARI = "Haffari et al. 2015"


class Printed(NamedTuple):
    """A table of a paper.

    paper, place : where it is; what : what is measured
    columns : their names; rows : for each name the figures, None where the paper has none
    """

    paper: str
    place: str
    what: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[float | None, ...]]

    def figure(self, row: str, column: str) -> float | None:
        """One figure; None if the paper has none there."""
        figures = self.rows.get(row)
        return None if figures is None else figures[self.columns.index(column)]


def mean(*figures: float) -> float:
    """The mean of printed figures, to two digits, for a column that the paper computes so."""
    return round(sum(figures) / len(figures), 2)


MODELS = ("MSSVM", "LSSVM", "HCRF")
PING_TABLE_2 = Printed(
    PING,
    "Table 2",
    "test accuracy (%)",
    MODELS,
    {
        "chain, CCCP": (69.63, 67.91, 69.03),
        "chain, SGD": (69.20, 66.87, 68.75),
        "grid, CCCP": (74.08, 73.38, 73.62),
        "grid, SGD": (74.12, 71.96, 73.51),
    },
)
SIGMAS = (10.0, 1.0, 0.5, 0.1, 0.01, 0.001)
_TABLE_3 = {
    "MSSVM": (79.30, 70.00, 67.24, 69.63, 73.88, 72.08),
    "LSSVM": (79.46, 70.07, 65.98, 67.91, 71.38, 69.24),
    "HCRF": (78.68, 69.88, 66.66, 69.03, 72.58, 70.88),
    "M3E": (79.04, 68.53, 66.05, 65.19, 67.21, 65.48),
    "ModLat": (77.16, 67.91, 65.15, 67.96, 71.52, 66.54),
}
PING_TABLE_3 = Printed(
    PING,
    "Table 3",
    "test accuracy (%)",
    tuple(_TABLE_3),
    {
        **{
            f"σ_h = {s:g}": tuple(own[k] for own in _TABLE_3.values()) for k, s in enumerate(SIGMAS)
        },
        "mean": tuple(mean(*own) for own in _TABLE_3.values()),
    },
)
PING_TABLE_4 = Printed(
    PING,
    "Table 4",
    "correct patches (%)",
    MODELS,
    {
        "building": (72.4, 70.7, 71.7),
        "grass": (89.7, 88.9, 88.3),
        "sky": (88.3, 85.6, 88.2),
        "tree": (71.9, 71.0, 70.1),
        "car": (70.8, 69.4, 70.2),
    },
)
YU_TABLE_1 = Printed(
    YU,
    "Table 1",
    "test error (%)",
    ("l = 11", "l = 17", "l = 11, no background", "l = 17, no background"),
    {
        "latent SSVM": (11.09, 12.00, 35.85, 33.12),
        "Gibbs, favoured threshold": (32.49, 31.47, 37.97, 35.06),
    },
)
YU_TABLE_2 = Printed(
    YU,
    "Table 2",
    "loss (%), on MUC-6",
    ("MITRE loss", "pair loss"),
    {
        "correlation clustering": (41.3, 2.89),
        "latent SSVM": (44.1, 2.66),
        "modified loss": (35.6, 4.11),
    },
)
YU_TABLE_3 = Printed(
    YU,
    "Table 3",
    "precision at k",
    ("P@1", "P@3", "P@5", "P@10"),
    {
        "latent SSVM": (0.680, 0.573, 0.567, 0.494),
        "its initial weights": (0.626, 0.557, 0.524, 0.464),
        "ranking SVM": (0.597, 0.543, 0.532, 0.486),
        "ListNet": (0.652, 0.602, 0.550, 0.498),
    },
)
TSOCHANTARIDIS_NER = Printed(
    TSOCHANTARIDIS,
    "section 4.3",
    "wrong labels (%), on other sentences and features",
    ("test error",),
    {"HMM": (9.36,), "CRF": (5.17,), "perceptron": (5.94,), "SVM_2": (5.08,)},
)
# One column of the paper for each of its five proteins, which it does not name.
KUMAR_MOTIFS = Printed(
    KUMAR,
    "motif finding",
    "objective, and test error (%)",
    ("objective", "test error"),
    {
        "first": (92.77, 27.10),
        "second": (106.50, 32.15),
        "third": (94.00, 27.10),
        "fourth": (116.63, 35.42),
        "fifth": (75.51, 20.25),
    },
)
