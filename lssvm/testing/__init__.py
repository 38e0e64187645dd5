"""Whether an application keeps what training relies on, tried on a few of its examples.

>>> from lssvm.testing import MOST_EXAMPLES, check_application
>>> check_application(application, examples)  # doctest: +SKIP
["example 'bag3': loss-augmented inference at w = 0 has value 0, what it found at …"]

The functions are asked at many w: at 0, where all is tied, at multiples of 1/8, whose sums are
exact, at random and at large ones. What inference finds at one w is an output like any other at
all the others: none may have a higher value there than what inference finds itself. Where an
application lists its ``candidates``, all of them are compared.
"""

from lssvm.testing.contract import MOST_EXAMPLES, check_application

__all__ = ["MOST_EXAMPLES", "check_application"]
