/* Rows matched with columns of their own by the greatest sum of weights.

   Kuhn 1955, as successive shortest paths: O(R C) for R rows and C columns, and O(R C) more for each
   row whose best column another one has already. Numbers are added and compared in the same order
   whatever the vector width. */

#ifndef LSSVM_RELATION_ASSIGN_H
#define LSSVM_RELATION_ASSIGN_H

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "wide.h"

/* Room for R rows and C columns, each array of max(R, C) + 1. */
typedef struct {
    double *rows, *columns; /* potentials */
    double *open;           /* those of columns off the path tree; -infinity for the others */
    double *least;          /* how far columns are, relative to the last one that joined the tree */
    int *match;             /* the row of each column, from 1; 0: none */
    int *way;               /* the column before */
    int *tree;              /* the columns on the path tree, in their order */
    int *unmatched;
} lssvm_assign_room;

enum { ASSIGN_LANES = 8 };

/* Reach columns from one that joins the path tree by the row with these weights and this potential;
   fall : what all columns off the tree have come nearer since the last call. Returns the nearest
   column, of equal ones the first, and how far it is; -1 for numbers that are not finite. */
WIDE
static ptrdiff_t lssvm_assign_reach(const double *restrict weights, double potential, double fall,
                                    const double *restrict open, ptrdiff_t C, int from,
                                    double *restrict least, int *restrict way, double *step)
{
    double low[ASSIGN_LANES], nearest = DBL_MAX;
    ptrdiff_t c = 0;
    for (; c < C; c++) {
        const double left = least[c] - fall, reduced = -weights[c] - potential - open[c];
        const int nearer = reduced < left;
        least[c] = nearer ? reduced : left;
        way[c] = nearer ? from : way[c];
    }
    for (int k = 0; k < ASSIGN_LANES; k++)
        low[k] = DBL_MAX;
    for (c = 0; c + ASSIGN_LANES <= C; c += ASSIGN_LANES)
        for (int k = 0; k < ASSIGN_LANES; k++)
            low[k] = least[c + k] < low[k] ? least[c + k] : low[k];
    for (; c < C; c++)
        nearest = least[c] < nearest ? least[c] : nearest;
    for (int k = 0; k < ASSIGN_LANES; k++)
        nearest = low[k] < nearest ? low[k] : nearest;
    *step = nearest;
    if (!(nearest < DBL_MAX))
        return -1;
    for (c = 0; c + ASSIGN_LANES <= C; c += ASSIGN_LANES) {
        int some = 0;
        for (int k = 0; k < ASSIGN_LANES; k++)
            some |= least[c + k] == nearest;
        if (some)
            break;
    }
    while (least[c] != nearest)
        c++;
    return c;
}

/* Match a row, first giving columns to other rows along the shortest path. Returns 0 for numbers
   that are not finite. */
static int lssvm_assign_row(const double *weights, ptrdiff_t C, int row, lssvm_assign_room *room)
{
    int *match = room->match, *way = room->way;
    double step = 0.0;
    ptrdiff_t at = 0, size = 0;
    match[0] = row;
    for (ptrdiff_t c = 1; c <= C; c++) {
        room->least[c] = DBL_MAX;
        room->open[c] = room->columns[c];
    }
    do {
        const double *own = weights + (match[at] - 1) * C;
        room->tree[size++] = (int)at;
        room->open[at] = -INFINITY;
        room->least[at] = INFINITY;
        at = 1 + lssvm_assign_reach(own, room->rows[match[at]], step, room->open + 1, C, (int)at,
                                    room->least + 1, way + 1, &step);
        if (at == 0)
            return 0;
        for (ptrdiff_t k = 0; k < size; k++) {
            room->rows[match[room->tree[k]]] += step;
            room->columns[room->tree[k]] -= step;
        }
    } while (match[at] != 0);
    for (; at != 0; at = way[at])
        match[at] = match[way[at]];
    return 1;
}

/* Match each of R rows with a column of its own, R <= C, by the greatest sum of weights (R, C), as
   ``room->match`` tells. Rows whose weights are all 0 are left out if ``idle``. */
static void lssvm_assign(const double *weights, ptrdiff_t R, ptrdiff_t C, int idle,
                         lssvm_assign_room *room)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t c = 0; c <= C; c++) {
        room->columns[c] = 0.0;
        room->match[c] = 0;
    }
    for (ptrdiff_t r = 1; r <= R; r++) {
        const double *own = weights + (r - 1) * C;
        ptrdiff_t top = 0;
        for (ptrdiff_t c = 1; c < C; c++)
            if (own[c] > own[top])
                top = c;
        room->rows[r] = -own[top];
        if (idle && own[top] == 0.0)
            continue;
        if (room->match[top + 1] == 0)
            room->match[top + 1] = (int)r;
        else
            room->unmatched[count++] = (int)r;
    }
    for (ptrdiff_t k = 0; k < count; k++)
        if (!lssvm_assign_row(weights, C, room->unmatched[k], room))
            return;
}

#endif
