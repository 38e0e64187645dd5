"""The options of parsing."""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from lssvm.applications import base
from lssvm.applications.parsing.heads import HeadTable, check_heads, read_heads
from lssvm.errors import DataError
from lssvm.kernels.parsing_arrays import MOST_CHAIN

SpanFeature = Literal[
    "length",
    "first_word",
    "last_word",
    "word_before",
    "word_behind",
    "first_tag",
    "last_tag",
    "tag_before",
    "tag_behind",
]


class ParsingOptions(base.Options):
    """The grammar, its features, and the loss."""

    name: Literal["parsing"] = Field(
        default="parsing", description="parsing with a weighted context-free grammar"
    )
    loss: Literal["f1", "brackets", "zero_one"] = Field(
        default="f1",
        description="f1: 1 − F1 of labelled brackets; brackets: number of predicted brackets that "
        "are wrong; zero_one: 1 if the tree is wrong",
    )
    binarisation: Literal["left", "right", "head"] = Field(
        default="right",
        description="how rules with more than two children are made binary: from the left or right "
        "end, or from the head outward",
    )
    heads: HeadTable | None = Field(
        default=None,
        description="file with the head table for binarisation: head; lines such as "
        "'NP right NN NNP', searched for from that end",
    )
    vertical: int = Field(
        default=1, ge=1, le=4, description="ancestors that a symbol knows, itself included"
    )
    horizontal: int | None = Field(
        default=1,
        ge=0,
        le=100,
        description="sisters that a symbol of a binary rule knows; all of them if null",
    )
    longest_chain: int | None = Field(
        default=None,
        ge=0,
        le=MOST_CHAIN,
        description="most one-child rules over the same words, the root not counted; null: as many "
        "as in training",
    )
    tags: Literal["given", "predicted"] = Field(
        default="given", description="whether parts of speech are input, or predicted from words"
    )
    min_count: int = Field(
        default=2,
        ge=1,
        description="smallest number of training words with a feature of words or spans",
    )
    span_features: tuple[SpanFeature, ...] = Field(
        default=(),
        description="features of brackets and their words: length, first_word, last_word, "
        "word_before, word_behind, and the same of tags",
    )
    unparsable: Literal["refuse", "skip"] = Field(
        default="refuse",
        description="training trees that the grammar does not make: refuse them, or train without "
        "them",
    )
    max_words: int | None = Field(
        default=None, ge=1, description="longest sentence for training; longer ones are left out"
    )
    exact_words: int = Field(
        default=40,
        ge=0,
        le=1000,
        description="longest sentence for which inference with loss f1 is made exact by counting, "
        "where its bounds leave a gap",
    )
    strip_traces: bool = Field(default=True, description="leave out traces (-NONE-)")
    strip_functions: bool = Field(default=True, description="cut function tags off: NP of NP-SBJ")
    exceptions: Literal["collins", "none"] = Field(
        default="collins",
        description="collins: scores leave out punctuation, and ADVP equals PRT, as in COLLINS.prm",
    )
    max_mb: float = Field(
        default=1000.0, gt=0, description="most memory for the charts of a sentence, in MB"
    )

    @field_validator("heads", mode="before")
    @classmethod
    def _read(cls, value: object, info: ValidationInfo) -> object:
        """The contents of the file that is named. Raises ValueError."""
        if not isinstance(value, str):
            return value
        try:
            return read_heads(base.named_file(value, info))
        except DataError as error:
            raise ValueError(str(error)) from None

    @field_validator("heads", mode="after")
    @classmethod
    def _checked(cls, value: HeadTable | None) -> HeadTable | None:
        return None if value is None else check_heads(value)

    @field_validator("span_features", mode="after")
    @classmethod
    def _distinct(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("names a feature twice; expected different ones")
        return value
