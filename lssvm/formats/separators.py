"""Lines cut into columns, by tabs or by blanks: one of the two for a whole file.

The first line that has a tab or a blank between values decides. If it has a tab, only tabs separate
values: a blank is part of a value, and there is an empty value between two tabs. Otherwise any
number of blanks separates values. Blanks around a value are dropped; other spaces of Unicode are
part of the value.
"""

_BLANKS = " \t"


class Separator:
    """The separator of the columns of a file, found from its lines in their order."""

    def __init__(self) -> None:
        self.tab: bool | None = None  # not known before the first line of several columns
        self._since = 0

    def cells(self, number: int, line: str) -> list[str]:
        """The values of a line, none for a line that has only blanks and tabs.

        Raises ValueError if the separator differs from that of the lines before.
        """
        bare = line.strip(_BLANKS)
        if not bare:
            return []
        tabs = "\t" in line
        if self.tab is None and (tabs or " " in bare):
            self.tab, self._since = tabs, number
        if self.tab and not tabs:
            raise ValueError(f"no tab; expected columns with tabs between them, {self._as()}")
        if tabs and not self.tab:
            raise ValueError(f"a tab; expected columns with blanks between them, {self._as()}")
        if tabs:
            return [cell.strip(" ") for cell in line.split("\t")]
        return [cell for cell in bare.split(" ") if cell]

    def _as(self) -> str:
        return f"as on line {self._since}"

    @property
    def means(self) -> str:
        """``, with tabs between them`` if tabs separate, for messages that count columns."""
        return ", with tabs between them" if self.tab else ""


def without_comment(line: str) -> str:
    """A line up to ``#``; blanks and tabs before it belong to the comment."""
    body, sign, _ = line.partition("#")
    return body.rstrip(_BLANKS) if sign else line


def check_filled(cells: list[str], names: tuple[str, ...]) -> None:
    """Raise ValueError for the first value that is empty. names : of the columns, for messages."""
    if "" in cells:
        place = cells.index("")
        name = f" ({names[place]})" if place < len(names) else ""
        raise ValueError(f"column {place + 1}{name} is empty; expected a value")
