"""The options of what is read."""

from pydantic import Field, ValidationInfo, field_validator

from lssvm.applications import base


class DataOptions(base.Options):
    """How files are read."""

    relation_names: str | None = Field(
        default=None,
        description="file with lines 'number name' of the relations of the text format; relative "
        "to the configuration (the model keeps the names)",
    )
    feature_names: str | None = Field(
        default=None,
        description="file with lines 'number name' of the features of the text format, for lssvm "
        "show (the model keeps those that occur in training)",
    )
    bias: float = Field(
        default=1.0,
        ge=0,
        le=1e6,
        description="value of a constant feature of each mention; 0: none",
    )

    @field_validator("relation_names", "feature_names")
    @classmethod
    def _placed(cls, value: str | None, info: ValidationInfo) -> str | None:
        """The path from the folder of the configuration; a model does not open it again."""
        return value if value is None or base.is_stored(info) else str(base.named_file(value, info))
