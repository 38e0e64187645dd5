"""The targets of ``make experiments``: which table of which paper each one repeats."""

from typing import NamedTuple

from experiments.papers import found, published
from experiments.papers.found import Reader
from experiments.papers.published import HAFFARI, PING, TSOCHANTARIDIS, YU, Printed


class Target(NamedTuple):
    """A target of the Makefile.

    name : of the target and of its folder; file : of its results, without an ending
    paper, place : what is repeated; place is empty for what no paper has
    what : what is measured; note : how ours differs from the paper's, in a sentence
    read : makes a table of the results, if they are such
    printed : the paper's table, if its figures are known
    """

    name: str
    file: str
    paper: str
    place: str
    what: str
    note: str = ""
    read: Reader | None = None
    printed: Printed | None = None

    @property
    def title(self) -> str:
        """A heading."""
        return f"{self.paper}, {self.place}" if self.place else self.paper


def _of(
    name: str, file: str, printed: Printed, read: Reader, note: str = "", what: str = ""
) -> Target:
    """A target whose paper has a table that is known."""
    own = what or printed.what
    return Target(name, file, printed.paper, printed.place, own, note, read, printed)


OWN = "Not in a paper"
NO_FIGURES = "The digits of the paper's table are missing in the copy that we have."
TARGETS = (
    _of(
        "motif-yeast",
        "motif_yeast",
        published.YU_TABLE_1,
        found.motif_yeast,
        "The paper's sequences are not public; ours are cut from the genome anew. Its figures "
        "without background are those of the workshop version of 2008.",
    ),
    _of(
        "coref",
        "coref",
        published.YU_TABLE_2,
        found.coref,
        "The paper has MUC-6; ours are LitBank and GUM.",
        "loss (%)",
    ),
    _of("ohsumed", "precision_at_k", published.YU_TABLE_3, found.precision_at_k),
    Target("mq2008", "precision_at_k", YU, "", "Table 3 on MQ2008", "", found.precision_at_k),
    Target("figure2", "figure2", YU, "Figure 2", "CCCP iterations", "The data are other ones."),
    Target("motif-planted", "motif_planted", OWN, "", "planted motifs"),
    Target("motif-promoters", "motif_promoters", OWN, "", "E. coli promoters, leave-one-out"),
    _of(
        "motif-pbm",
        "motif_pbm",
        published.KUMAR_MOTIFS,
        found.motif_pbm,
        "The paper has five proteins whose names it does not give; four of them are here.",
    ),
    Target(
        *("taxonomy", "taxonomy", TSOCHANTARIDIS, "Table 1", "accuracy (%) and tree loss"),
        f"The paper's patents are not public. {NO_FIGURES}",
        found.taxonomy,
    ),
    Target(
        *("taxonomy-simulated", "taxonomy-simulated", OWN, "", "accuracy (%), tree − flat, 0/1"),
        "Classes share features by level: the columns are the share that they have in common.",
        found.taxonomy_simulated,
    ),
    _of(
        "ner",
        "ner",
        published.TSOCHANTARIDIS_NER,
        found.ner,
        "The sentences are other ones of the same corpus, and the features are ours.",
        "wrong labels (%)",
    ),
    Target(
        *("alignment", "alignment", TSOCHANTARIDIS, "section 4.4", "test error (%), homologs"),
        "The paper does not describe its simulation. As there, the generative model has the gap "
        f"penalty that is best on the test sets, which favours it. {NO_FIGURES}",
        found.alignment,
    ),
    Target(
        *("alignment-balibase", "alignment-balibase", OWN, "", "Q-score of aligned proteins"),
        read=found.alignment_balibase,
    ),
    Target(
        *("parsing", "parsing", TSOCHANTARIDIS, "section 4.5", "parsed test sentences (%)"),
        f"GUM's trees stand in the place of the Penn treebank. {NO_FIGURES}",
        found.parsing,
    ),
    Target(
        *("constraints", "constraints", TSOCHANTARIDIS, "Theorem 1", "number of constraints"),
        "The paper proves a bound and has no experiment of this.",
    ),
    _of(
        "mssvm-table2",
        "table2",
        published.PING_TABLE_2,
        found.mssvm_table2,
        "Inference is exact on the grids, where the paper has belief propagation.",
    ),
    _of(
        "mssvm-table3",
        "table3",
        published.PING_TABLE_3,
        found.mssvm_table3,
        "M3E and ModLat have settings that the paper does not state.",
    ),
    _of(
        "mssvm-table4",
        "table4",
        published.PING_TABLE_4,
        found.mssvm_table4,
        "The paper has 5 classes and patches, ours 21 classes and superpixels, and one split: the "
        "levels cannot be compared.",
        "correct nodes (%)",
    ),
    Target("mssvm-figure2", "figure2", PING, "Figure 2", "convergence of (sub)gradient descent"),
    Target(
        *("mssvm-figure3", "figure3", PING, "Figure 3", "test error (%)"),
        "The paper's figures are curves, whose values it does not print.",
        found.mssvm_figure3,
    ),
    Target(
        *("mssvm-figure4", "figure4", PING, "Figure 4", "accuracy (%) on new images"),
        "The paper's figures are curves, whose values it does not print.",
        found.mssvm_figure4,
    ),
    Target(
        *("mssvm-figure5", "figure5", PING, "Figure 5", "log-likelihood of test labels (nats)"),
        "The paper's figures are curves, whose values it does not print.",
        found.mssvm_figure5,
    ),
    Target("mssvm-draws", "draws", PING, "", "other readings of the simulation of Table 2"),
    Target(
        *("relation", "relation", HAFFARI, "curves", "precision, recall and F1 (%)"),
        "The paper's test bags without a relation are not public.",
        found.relation,
    ),
    Target("bags", "bags", OWN, "", "F1 (%) of binary bags", "", found.bags),
)
