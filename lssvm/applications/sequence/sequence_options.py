"""The options of label sequences."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from lssvm import checked
from lssvm.applications import base, scaling
from lssvm.applications.scaling import DESCRIPTION as SCALING
from lssvm.applications.scaling import Scaling
from lssvm.applications.sequence import templates
from lssvm.errors import nearest

Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class SequenceOptions(base.Options):
    """The format of sequences, the attributes of tokens, and the loss."""

    name: Literal["sequence"] = Field(default="sequence", description="label sequences")
    format: Literal["conll", "svm_hmm"] = Field(
        default="conll", description="conll: columns and templates; svm_hmm: numeric features"
    )
    columns: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        default=("word", "label"), description="names of the columns of a CoNLL file"
    )
    label: str = Field(default="", description="name of the label column; by default the last")
    templates: tuple[str, ...] = Field(
        default=("word", "word[-1]", "word[1]", "suffix(word, 3)", "brief_shape(word)"),
        description="attributes of a token, such as word[-1] & word or lower(word)",
    )
    min_count: int = Field(
        default=1, ge=1, description="smallest number of training tokens with an attribute"
    )
    bias: float = Field(
        default=0.0,
        ge=-checked.LARGEST,
        le=checked.LARGEST,
        allow_inf_nan=False,
        description="value of the appended constant feature; larger values regularise the bias "
        "less (1000: hardly at all); 0: no bias",
    )
    loss: Literal["hamming", "zero_one"] = Field(
        default="hamming",
        description="hamming: number of wrong labels; zero_one: 1 if any label is wrong",
    )
    class_costs: dict[str, Cost] = Field(
        default={},
        description="cost of a wrong label, by true label; 1 for labels that are not named",
    )
    order: Literal[1, 2] = Field(default=1, description="order of the Markov chain of labels")
    ends: bool = Field(default=False, description="weights for the first and the last label")
    scaling: Scaling = Field(default="none", description=f"svm_hmm: {SCALING}")

    @field_validator("columns")
    @classmethod
    def _distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("two columns have the same name; expected different names")
        return names

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.format == "svm_hmm":
            return self
        if self.scaling != scaling.NONE:
            raise ValueError(
                f"scaling: {self.scaling} is for numeric features, format: svm_hmm; expected none"
            )
        if self.label and self.label not in self.columns:
            known, near = ", ".join(self.columns), nearest(self.label, self.columns)
            raise ValueError(f"label: there is no column {self.label!r}{near} (known: {known})")
        columns = [name for name in self.columns if name != self.label_column]
        if self.templates and not columns:
            raise ValueError(
                f"columns: {self.label_column!r} is the only one, and has the labels; expected one "
                "for the templates too, such as word"
            )
        seen = set()
        for text in self.templates:
            try:
                template = templates.parse(text, columns)
            except ValueError as error:
                raise ValueError(f"templates: {error}") from None
            if template in seen:
                raise ValueError(f"templates: {text!r} is given twice")
            seen.add(template)
        return self

    @property
    def label_column(self) -> str:
        """The name of the column of the label."""
        return self.label or self.columns[-1]
