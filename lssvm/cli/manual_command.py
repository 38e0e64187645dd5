"""The commands ``lssvm completion`` and ``lssvm man``, made from the commands themselves."""

import re
from collections.abc import Iterator

import click

from lssvm import __version__
from lssvm.cli import streams
from lssvm.cli.common import Command, Group

SHELLS = ("bash", "zsh", "fish")


def programs() -> dict[str, click.Command]:
    """The installed programs by name."""
    from lssvm.cli import classify, learn, main

    return {"lssvm": main, "lssvm-learn": learn, "lssvm-classify": classify}


@click.command(cls=Command)
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL complete the commands of lssvm, their options and files.

    \b
    bash: eval "$(lssvm completion bash)"
    zsh: eval "$(lssvm completion zsh)"
    fish: lssvm completion fish | source
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    with streams.results() as file:
        for name, command in programs().items():
            variable = f"_{name.upper().replace('-', '_')}_COMPLETE"
            file.write(kind(command, {}, name, variable).source() + "\n")


@click.command(cls=Command, name="man")
@click.argument("out", metavar="DIR", type=click.Path())
def manual(out: str) -> None:
    """Write the manual pages of all commands into DIR, a new or an empty folder.

    \b
    lssvm man man1
    man ./man1/lssvm-learn.1
    """
    from lssvm.cli.files import Files
    from lssvm.output.whole import check_folder, write_folder

    files = Files()
    files.writes("DIR", out, check_folder, folder=True)
    files.check_outputs()
    pages = [(f"{name}.1", text.encode()) for name, text in manual_pages()]
    write_folder(out, pages)


def manual_pages() -> Iterator[tuple[str, str]]:
    """Name and text, in roff, of the page of each command."""
    for name, command in programs().items():
        yield from _pages(name, name, command, None)


def _pages(
    page: str, called: str, command: click.Command, parent: click.Context | None
) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=called, parent=parent)
    yield page, _page(page, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            own = command.get_command(context, name)
            if own is not None:
                yield from _pages(f"{page}-{name}", name, own, context)


def _page(name: str, context: click.Context) -> str:
    """A page: name, synopsis, description, options, commands, exit codes."""
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{_roff(name.upper())}" 1 "" "lssvm {__version__}" "lssvm"',
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(command.get_short_help_str(200).rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{_roff(context.command_path)}\\fR {_roff(usage)}",
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        ".SH OPTIONS",
    ]
    for each in command.get_params(context):
        record = each.get_help_record(context)
        if record:
            lines += [".TP", f"\\fB{_roff(record[0])}\\fR", _roff(record[1]) or "."]
    if isinstance(command, Group):
        lines.append(".SH COMMANDS")
        for other in command.list_commands(context):
            own = command.get_command(context, other)
            told = own.get_short_help_str(200) if own else ""
            lines += [".TP", f"\\fB{_roff(f'{name}-{other}')}(1)\\fR", _roff(told)]
    root = context.find_root().command
    if root.epilog:
        lines += [".SH EXIT STATUS", *_paragraphs(root.epilog)]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those marked by \\b keep their lines."""
    for block in re.split(r"\n\s*\n", text.strip()):
        rows = [row.strip() for row in block.splitlines() if row.strip()]
        yield ".PP"
        if rows and rows[0] == "\b":
            yield ".nf"
            yield from map(_roff, rows[1:])
            yield ".fi"
        else:
            yield _roff(" ".join(rows))


def _roff(text: str) -> str:
    """Text in which nothing is a command of roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ").replace('"', "\\(dq")
    return f"\\&{text}" if text.startswith((".", "'")) else text
