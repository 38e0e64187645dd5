"""The common options of multiclass and taxonomy."""

from pydantic import Field

from lssvm import checked
from lssvm.applications import base
from lssvm.applications.class_costs import DESCRIPTION, ClassCosts
from lssvm.applications.index_base import DESCRIPTION as INDEX_BASE
from lssvm.applications.index_base import Choice
from lssvm.applications.scaling import DESCRIPTION as SCALING
from lssvm.applications.scaling import Scaling


class RowOptions(base.Options):
    """Options of both applications."""

    bias: float = Field(
        default=1.0,
        ge=0,
        le=checked.LARGEST,
        allow_inf_nan=False,
        description="value of the appended constant feature; larger values regularise the bias "
        "less (1000: hardly at all); 0: no bias",
    )
    class_costs: ClassCosts = Field(default={}, description=DESCRIPTION)
    index_base: Choice = Field(default="auto", description=INDEX_BASE)
    scaling: Scaling = Field(default="none", description=SCALING)
