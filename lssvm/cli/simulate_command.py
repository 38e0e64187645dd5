"""``lssvm simulate``: a command for each simulation, made of what the simulation offers."""

import os
from functools import partial
from pathlib import Path

import click

from lssvm import simulation
from lssvm.cli import streams
from lssvm.cli.common import Command, Group, quiet_option
from lssvm.errors import LssvmError
from lssvm.simulation.base import Simulation


class _Simulations(Group):
    """The simulations by name; the module of one is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(simulation.MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in simulation.MODULES:
            return None
        return _command(cmd_name, simulation.load(cmd_name))


@click.group(cls=_Simulations)
def simulate() -> None:
    """Write simulated data and a configuration, and print the best possible error."""


def _command(name: str, kind: Simulation) -> click.Command:
    options = [
        click.Option(
            [f"--{option.name.replace('_', '-')}"],
            type=type(option.default),
            default=option.default,
            show_default=True,
            metavar=option.metavar or "N",
            help=option.text,
        )
        for option in kind.options
    ]
    example = f"\b\nlssvm simulate {name} --out simulated --seed 1"
    command = Command(
        name,
        params=[_OUT, _SEED, *options],
        callback=partial(_simulate, kind),
        help=f"{kind.text}\n\n{example}",
    )
    return quiet_option(command)


def _simulate(kind: Simulation, out: str, quiet: bool, **options: int) -> None:
    from lssvm.cli.files import Files

    files = Files()
    for name in kind.files:
        files.writes("--out", str(Path(out) / name), check=None)
    files.prints()
    _check_kept(kind, Path(out), options)
    told = kind.simulate(Path(out), **options)
    if not quiet:
        streams.show(told.splitlines())
        streams.show(f"wrote {Path(out) / name}" for name in kind.configurations)


def _check_kept(kind: Simulation, folder: Path, options: dict[str, int]) -> None:
    """Raise LssvmError if a file that is there would get other content than it has.

    The same command again is harmless: it writes the same bytes.
    """
    there = [name for name in kind.files if os.path.lexists(folder / name)]
    if not there:
        return
    from filecmp import cmp
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as fresh:
        kind.simulate(Path(fresh), **options)
        for name in there:
            path = folder / name
            if not path.is_file() or not cmp(Path(fresh) / name, path, shallow=False):
                raise LssvmError(
                    f"{path}: exists already, with other content; expected a folder without it"
                )


_OUT = click.Option(
    ["--out"],
    required=True,
    metavar="DIR",
    type=click.Path(),
    help="Folder to write to; no file in it is replaced by another one.",
)
_SEED = click.Option(
    ["--seed"],
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Random seed.",
)
