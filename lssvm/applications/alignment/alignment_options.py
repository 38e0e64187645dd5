"""The options of alignment."""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from lssvm import checked
from lssvm.applications import base
from lssvm.errors import LssvmError
from lssvm.formats.blast_matrix import named_matrix, read_blast_matrix

NONE = "none"
CRF = "crf"
ALPHABETS = {"protein": "ARNDCQEGHILKMFPSTWYV", "dna": "ACGT"}  # in the order of BLAST

Score = Annotated[float, Field(ge=-checked.LARGEST, le=checked.LARGEST, allow_inf_nan=False)]
Letters = Annotated[str, Field(min_length=1)]


class AlignmentOptions(base.Options):
    """What is aligned, how it is scored, and what is predicted."""

    name: Literal["alignment"] = Field(default="alignment", description="alignment of sequences")
    task: Literal["homolog", "pairs"] = Field(
        default="homolog",
        description="homolog: which candidate is the homolog of a native sequence; pairs: the "
        "alignment of two sequences",
    )
    format: Literal["fasta", "multiple"] = Field(
        default="fasta",
        description="task pairs: fasta: each two records of a file are a pair; multiple: each file "
        "is one multiple alignment (aligned FASTA, .msf, .sto or .aln), of which all pairs are "
        "taken",
    )
    alphabet: str = Field(
        default="protein",
        description="protein, dna, or the letters themselves; other letters of the data score 0 "
        "with any letter",
    )
    mode: Literal["local", "global"] = Field(
        default="local",
        description="local: the best part of both sequences (Smith-Waterman); global: both from "
        "end to end (Needleman-Wunsch)",
    )
    free_ends: bool = Field(
        default=False,
        description="mode global: a gap at an end costs nothing; of two gaps at one end, one",
    )
    gaps: Literal["affine", "linear"] = Field(
        default="affine",
        description="affine: weights for opening and for extending a gap; linear: one weight for "
        "each letter of a gap",
    )
    first_letter: Literal["open", "open_extend"] = Field(
        default="open",
        description="affine gaps: what the first letter of a gap scores; open: the opening alone "
        "(as in parasail and EMBOSS); open_extend: opening and extension (as in BLAST)",
    )
    symmetric: bool = Field(
        default=True, description="whether a with b scores the same as b with a; halves the weights"
    )
    classes: tuple[Letters, ...] = Field(
        default=(),
        description="groups of letters, each letter in one at most, such as [DE, KRH]: further "
        "weights for pairs of groups",
    )
    neighbours: str = Field(
        default="AVILMFYWC",
        description="letters of the neighbourhood feature, with neighbourhood above 0",
    )
    neighbourhood: int = Field(
        default=0,
        ge=0,
        le=100,
        description="further weights for pairs of letters by whether at least half of so many "
        "letters on either side are of neighbours; 0: none",
    )
    shift: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="task pairs: a letter counts as rightly aligned at most so many letters from "
        "its true partner; 0: the loss is 1 − Q",
    )
    prior: str | dict[str, dict[str, Score]] = Field(
        default=NONE,
        description="none, or a matrix that is added to all scores, so that weights are "
        "differences from it: a name that Biopython knows, such as BLOSUM62, or a file in the text "
        "format of BLAST (with a dot or slash in its name); the model keeps its scores",
    )
    prior_scale: float = Field(
        default=1.0, gt=0, le=1e6, description="factor of the scores and gaps of the prior"
    )
    prior_gaps: tuple[Score, Score] = Field(
        default=(-11.0, -1.0),
        description="scores of opening and extending a gap that belong to the prior; linear gaps "
        "use the second one",
    )
    initialisation: Literal["scores", "zero", "given"] = Field(
        default="scores",
        description="hidden alignments: first alignments; scores: the best ones by the prior, or "
        "without one by 1 for equal letters, −1 for others and −2 for a letter of a gap; zero: "
        "those at w = 0; given: those of the files",
    )
    matrix_scale: float = Field(
        default=100.0,
        gt=0,
        le=1e6,
        description="factor of the scores before they are rounded to the whole numbers of the "
        "exported matrix",
    )

    @property
    def letters(self) -> str:
        """The letters of the alphabet, each of them a code."""
        return ALPHABETS.get(self.alphabet, self.alphabet)

    @field_validator("alphabet")
    @classmethod
    def _alphabet(cls, value: str) -> str:
        if value in ALPHABETS:
            return value
        letters = value.upper()
        legal = all(("A" <= letter <= "Z") or letter == "*" for letter in letters)
        if not letters or not legal or len(set(letters)) < len(letters):
            raise ValueError(f"{value[:40]!r} is not an alphabet; expected protein, dna or letters")
        return letters

    @field_validator("prior")
    @classmethod
    def _prior(
        cls, value: str | dict[str, dict[str, float]], info: ValidationInfo
    ) -> str | dict[str, dict[str, float]]:
        """Replace the name of a matrix by its scores."""
        if value == NONE:
            return value
        if isinstance(value, dict):
            for row in value.values():
                if row.keys() != value.keys():
                    raise ValueError("the rows and columns of the matrix differ")
            return value
        try:
            if base.is_stored(info) or any(mark in value for mark in "./"):
                return read_blast_matrix(base.named_file(value, info))
            return named_matrix(value)
        except LssvmError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seen = "".join(group.upper() for group in self.classes)
        wrong = next((letter for letter in seen if letter not in self.letters), None)
        if wrong:
            raise ValueError(f"classes: {wrong!r} is not in the alphabet {self.letters}")
        if len(set(seen)) < len(seen):
            raise ValueError("classes: a letter is in two groups; expected one at most")
        if self.free_ends and self.mode == "local":
            raise ValueError("free_ends: local alignments have no end gaps; expected mode: global")
        if self.format == "multiple" and self.task == "homolog":
            raise ValueError("format: multiple is for task: pairs; expected fasta")
        if isinstance(self.prior, dict):
            self._check_prior(self.prior)
        return self

    def _check_prior(self, prior: dict[str, dict[str, float]]) -> None:
        missing = [letter for letter in self.letters if letter not in prior]
        if missing:
            raise ValueError(f"prior: no scores of {missing[0]!r}; expected all of the alphabet")
        for a in self.letters:
            for b in self.letters:
                if self.symmetric and prior[a][b] != prior[b][a]:
                    raise ValueError(
                        f"prior: {a} with {b} scores {prior[a][b]:g}, {b} with {a} "
                        f"{prior[b][a]:g}; expected symmetric: false"
                    )


def check_model(options: AlignmentOptions, form: base.Formulation) -> None:
    """Refuse options that do not fit the model. Raises LssvmError."""
    if options.task == "pairs" and form.model not in ("ssvm", CRF):
        raise LssvmError(
            f"application.task: pairs: model {form.model} has hidden alignments, but here the "
            "alignment is the output; expected objective.model: ssvm or crf"
        )
    if options.task == "homolog" and form.model == CRF:
        raise LssvmError(
            "application.task: homolog: model crf has no hidden values; expected objective.model: "
            "ssvm (alignments are given), or lssvm, mssvm or hcrf (alignments are hidden)"
        )
    plain = form.rescaling == "margin" and form.slack_norm == 1
    if not plain and (form.model != "ssvm" or options.task == "pairs"):
        raise LssvmError(
            "application alignment: rescaling: slack and slack_norm: 0 and 2 need task: homolog "
            "and model: ssvm; expected rescaling: margin, slack_norm: 1"
        )
