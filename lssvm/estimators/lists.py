"""What estimators share whose examples are lists of structures, and no rows of one array."""

from collections.abc import Sequence
from typing import Any, ClassVar


class Lists:
    """To be mixed into an estimator.

    _kinds : the kinds of input, by the names that scikit-learn's tags have, such as string and dict
    """

    _kinds: ClassVar[tuple[str, ...]] = ()

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        for kind in self._kinds:
            setattr(tags.input_tags, kind, True)
        tags.target_tags.required = True
        tags.no_validation = True
        return tags


class Measured(Lists):
    """The same, with all scores of the application."""

    _examples: Any
    _fitted: Any
    _classified: Any

    def metrics(self, X: Sequence[Any] | None, y: Sequence[Any]) -> dict[str, float | None]:
        """All scores, as the commands print them, most of them in percent."""
        examples = self._examples(X, y)
        found: dict[str, float | None] = self._fitted.score(examples, self._classified(examples))
        return found
