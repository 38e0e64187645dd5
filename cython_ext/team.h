/* Threads that share the items of one batch after another.

   One thread leads: it publishes a batch, takes items itself, and waits until all are done. The
   others look for items until the leader ends it all. Whoever comes late finds nothing left. The
   counters only grow, so that nothing is ever set back while another thread reads it. Where the
   compiler has no atomic operations the leader does everything alone. */

#ifndef LSSVM_TEAM_H
#define LSSVM_TEAM_H

#include "wide.h"

/* Places of the counters among 64-bit numbers, apart so that each has a cache line. */
enum { TEAM_PUBLISHED = 0, TEAM_TAKEN = 8, TEAM_DONE = 16, TEAM_ENDED = 24, TEAM_BASE = 32 };
enum { TEAM_SIZE = 48, TEAM_PATIENCE = 256 }; /* looks, before the processor is left to others */

#if defined(__GNUC__)

#if defined(__unix__) || defined(__APPLE__)
#include <sched.h>
#define TEAM_YIELD() sched_yield()
#else
#define TEAM_YIELD() ((void)0)
#endif

/* A moment's rest between two looks at a counter. */
INLINE void team_pause(long looks)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    if (looks % TEAM_PATIENCE == TEAM_PATIENCE - 1)
        TEAM_YIELD();
}

/* Begin a batch of so many items. */
INLINE void team_publish(long long *team, long long count)
{
    team[TEAM_BASE] = team[TEAM_PUBLISHED];
    __atomic_store_n(team + TEAM_PUBLISHED, team[TEAM_PUBLISHED] + count, __ATOMIC_RELEASE);
}

/* The next item of the batch for this thread, -1 if there is none now. */
INLINE long team_take(long long *team)
{
    long long taken = __atomic_load_n(team + TEAM_TAKEN, __ATOMIC_RELAXED);
    while (taken < __atomic_load_n(team + TEAM_PUBLISHED, __ATOMIC_ACQUIRE))
        if (__atomic_compare_exchange_n(team + TEAM_TAKEN, &taken, taken + 1, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return (long)(taken - team[TEAM_BASE]);
    return -1;
}

/* An item is done. */
INLINE void team_done(long long *team)
{
    __atomic_fetch_add(team + TEAM_DONE, 1, __ATOMIC_RELEASE);
}

/* Wait until all items of the batch are done. */
INLINE void team_wait(long long *team)
{
    for (long looks = 0; __atomic_load_n(team + TEAM_DONE, __ATOMIC_ACQUIRE)
                         < team[TEAM_PUBLISHED]; looks++)
        team_pause(looks);
}

/* The next item for a thread that does not lead, -1 once all has ended. */
INLINE long team_next(long long *team)
{
    for (long looks = 0; !__atomic_load_n(team + TEAM_ENDED, __ATOMIC_ACQUIRE); looks++) {
        long item = team_take(team);
        if (item >= 0)
            return item;
        team_pause(looks);
    }
    return -1;
}

/* Let the others go. */
INLINE void team_end(long long *team)
{
    __atomic_store_n(team + TEAM_ENDED, 1, __ATOMIC_RELEASE);
}

#else

INLINE void team_publish(long long *team, long long count)
{
    team[TEAM_BASE] = team[TEAM_PUBLISHED];
    team[TEAM_PUBLISHED] += count;
}

INLINE long team_take(long long *team)
{
    return team[TEAM_TAKEN] < team[TEAM_PUBLISHED]
        ? (long)(team[TEAM_TAKEN]++ - team[TEAM_BASE]) : -1;
}

INLINE void team_done(long long *team) { team[TEAM_DONE]++; }
INLINE void team_wait(long long *team) { (void)team; }
INLINE long team_next(long long *team) { (void)team; return -1; }
INLINE void team_end(long long *team) { team[TEAM_ENDED] = 1; }

#endif

#endif
