"""Checks on a few examples that an application has the properties on which training relies.

>>> from lssvm.testing import MOST_EXAMPLES, check_application
>>> check_application(application, examples)  # doctest: +SKIP
["example 'bag3': loss-augmented inference at w = 0 has value 0, but the output …"]

The functions are called at many w: at 0, where all values are tied; at multiples of 1/8, whose sums
are exact; at random w; and at large w. The output that inference returns at one w is also an output
at all other w: it may not have a higher value there than the output that inference returns there.
If an application lists its ``candidates``, all of them are compared.
"""

from lssvm.testing.contract import MOST_EXAMPLES, check_application

__all__ = ["MOST_EXAMPLES", "check_application"]
