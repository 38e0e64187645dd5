"""Wrong values of options and arguments: what is wrong, and what was expected."""

import click

from lssvm.errors import LssvmError, nearest


def of_value(error: click.BadParameter, context: click.Context, given: list[str]) -> LssvmError:
    """The error in the words of all other ones; raises the error itself where there are none.

    given : the arguments of the command
    """
    parameter = error.param
    expected = None if parameter is None else _expected(parameter.type)
    if parameter is None or expected is None:
        raise error
    option = isinstance(parameter, click.Option)
    name = parameter.opts[0] if option else parameter.human_readable_name
    if isinstance(error, click.MissingParameter):
        return LssvmError(f"no {name}; expected {expected}")
    values, _, _ = context.command.make_parser(context).parse_args(list(given))
    value = values.get(str(parameter.name))
    if not isinstance(value, str):
        raise error
    near = nearest(value, getattr(parameter.type, "choices", ()))
    return LssvmError(f"{name} {value}: expected {expected}{near}")


def _expected(kind: click.ParamType) -> str | None:
    """What a value of a type may be; None for types that take any text."""
    if isinstance(kind, click.Choice):
        *others, last = map(repr, kind.choices)
        return f"{', '.join(others)} or {last}" if others else last
    if isinstance(kind, click.types.IntParamType):
        what = "a whole number"
    elif isinstance(kind, click.types.FloatParamType):
        what = "a number"
    else:
        return None
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is None:
        return what
    return f"{what} of at least {least}" if most is None else f"{what} from {least} to {most}"
