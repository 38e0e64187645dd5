"""The options of relation extraction."""

from typing import Literal, Self

from pydantic import Field, model_validator

from lssvm.applications.relation.data_options import DataOptions

F_BETA = "f_beta"


class RelationOptions(DataOptions):
    """What is learnt, and how the worst labels are found."""

    name: Literal["relation"] = Field(
        default="relation", description="relations of pairs of entities, mentions being unlabelled"
    )
    none_weights: bool = Field(
        default=False,
        description="whether none, the label of a mention that expresses no relation, has weights "
        "of its own; otherwise its score is 0",
    )
    loss: Literal["hamming", "f_beta"] = Field(
        default="hamming",
        description="hamming: the number of wrong relations of each pair; f_beta: number of pairs "
        "times 1 − F over all pairs of the data set",
    )
    beta: float = Field(
        default=1.0,
        gt=0,
        le=100,
        description="loss f_beta: recall counts as beta times as important as precision",
    )
    average: Literal["micro", "macro"] = Field(
        default="micro",
        description="loss f_beta: micro: F of all pairs and relations together; macro: the mean of "
        "the F of the relations that the data have",
    )
    decomposition: Literal["auto", "counts", "pairs"] = Field(
        default="auto",
        description="loss f_beta: what its copies of the relations are joined by; pairs: a "
        "multiplier for each pair and relation, as in the paper; counts: the numbers of right and "
        "of wrong relations, for average: micro; auto: counts for micro, pairs for macro",
    )
    iterations: int = Field(
        default=15,
        ge=1,
        le=100_000,
        description="loss f_beta: most steps of the decomposition in one oracle pass",
    )
    steps: Literal["inverse_root", "inverse"] = Field(
        default="inverse_root",
        description="decomposition pairs: size of step t; inverse_root: 1/√t; inverse: 1/t",
    )
    label_sets: int = Field(
        default=4096,
        ge=1,
        le=2**40,
        description="sets of relations that are tried for a pair; beyond, mixed-integer "
        "programming finds the best one",
    )
    initialisation: Literal["labels", "random"] = Field(
        default="labels",
        description="first labels of mentions; labels: the relations of their pair in turn; "
        "random: in random order",
    )

    @property
    def by_counts(self) -> bool:
        """Whether the decomposition is by counts."""
        return self.decomposition != "pairs" and self.average == "micro"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.decomposition == "counts" and self.average == "macro":
            raise ValueError("decomposition: counts needs average: micro; expected pairs or auto")
        return self
