/* Random fields in lanes: several graphs of one shape side by side.

   Which tables meet in which step is walked through once for all of them; a number of a table is a
   vector of W numbers, one for each graph. W is MRF_LANES, or 1 for a graph that has no companions.
   The sums of a lane run in the same order whatever W is. */

#ifndef LSSVM_MRF_LANES_H
#define LSSVM_MRF_LANES_H

#include "lane_math.h"

enum { MRF_LANES = 8 };

#endif
