/* SPDX-License-Identifier: MIT
 *
 * A rebuild beside those who write (guard/rebuild.h): filters that count copies, two keys that look alike, so that each filter is
 * a number of copies, and takes one out whoever's it is. Each key is added or removed by a writer of its own, under its
 * stripe: filter first, then store, and the other way round. The rebuild lists a snapshot of the store. When all is done, the
 * filter in use must have exactly as many copies as the store has keys; and never fewer than that.
 *
 * Taken out, the model must fail:
 *   NO_STRIPES      a rebuild begins without waiting for keys that are half written
 *   OLD_ONLY        adds go to the old filter only
 *   NOT_REMEMBERED  the listing brings a key that was added meanwhile a second time
 *   TRUST_EARLY     a key removed before the snapshot is taken for one that the listing brings
 *   NO_SETTLING     removals do not reach the new filter
 */
#define KEYS 2

bool stripe[KEYS];
bool store[KEYS];
byte copies[2]; /* of the old filter and of the new one */
byte use;       /* which is in use */
bool rebuilding, iterating;
bool written[KEYS], present[KEYS], held[KEYS], iterated[KEYS];
byte running = KEYS;

inline lock(key) { atomic { !stripe[key] -> stripe[key] = true } }
inline unlock(key) { stripe[key] = false }

/* Under the lock of the rebuild: one step. */
inline remember(key, from_listing)
{
    written[key] = true;
    present[key] = true;
    held[key] = true;
    iterated[key] = from_listing;
    if
    :: !from_listing -> copies[1]++
    :: else
    fi
}

inline add(key)
{
    lock(key);
    copies[use]++;
#ifndef OLD_ONLY
    atomic {
        if
        :: rebuilding && written[key] && !held[key] -> copies[1]++; held[key] = true; present[key] = true
        :: rebuilding && written[key] && held[key] -> present[key] = true
        :: rebuilding && !written[key] -> remember(key, false)
        :: else
        fi
    }
#endif
    store[key] = true;
    unlock(key)
}

inline take(key)
{
    lock(key);
    atomic {
        if
#ifdef TRUST_EARLY
        :: rebuilding && !written[key] -> remember(key, true)
#else
        :: rebuilding && !written[key] -> remember(key, iterating)
#endif
        :: else
        fi
    }
    store[key] = false;
    atomic {
        if
        :: rebuilding ->
            present[key] = false;
            if
            :: held[key] && !iterated[key] -> held[key] = false; copies[1]--
            :: else
            fi
        :: else
        fi
    }
    copies[use]--;
    unlock(key)
}

/* Key 0 is not in the store at first, key 1 is. */
proctype adder() { add(0); take(0); running-- }
proctype remover() { take(1); add(1); running-- }

proctype rebuild()
{
    bool snapshot[KEYS];
    byte key;
#ifndef NO_STRIPES
    lock(0);
    lock(1);
#endif
    rebuilding = true;
#ifndef NO_STRIPES
    unlock(1);
    unlock(0);
#endif
    atomic { snapshot[0] = store[0]; snapshot[1] = store[1] }
    for (key : 0 .. KEYS - 1) {
        atomic {
            if
            :: snapshot[key] ->
                iterating = true;
                if
#ifdef NOT_REMEMBERED
                :: true -> copies[1]++
#else
                :: !written[key] || iterated[key] -> copies[1]++
#endif
                :: else
                fi
            :: else
            fi
        }
    }
    lock(0);
    lock(1);
    for (key : 0 .. KEYS - 1) {
        if
#ifndef NO_SETTLING
        :: written[key] && held[key] && !present[key] -> copies[1]--
#endif
        :: else
        fi
    }
    rebuilding = false;
    use = 1;
    assert(copies[1] == store[0] + store[1]);
    unlock(1);
    unlock(0);
    running == 0;
    assert(copies[1] == store[0] + store[1])
}

init {
    atomic {
        store[1] = true;
        copies[0] = 1;
        run adder();
        run remover();
        run rebuild()
    }
}
