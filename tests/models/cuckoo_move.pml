/* SPDX-License-Identifier: MIT
 *
 * A fingerprint moves between its two buckets, to and fro, beside a reader that asks for it (src/cuckoo_shared.c). It is
 * in the filter all the time, so the reader must never be sure that it is not.
 *
 * Each bucket has a version, odd while something moves from or to it. A release store or exchange keeps the order of
 * what a writer does, acquire loads that of what a reader does; the model has both orders as they are written.
 *
 * Taken out, the model must fail:
 *   NO_VERSION_CHECK  the reader believes a miss
 *   MARK_LATE         versions change after the move only (no release: the mark overtakes nothing)
 *   LOOK_EARLY        the reader loads the versions the second time before it has read the buckets (no acquire)
 */
#define MOVES 4
#define TRIES 2

byte version[2];
bool slot[2]; /* whether the bucket holds the fingerprint */

proctype mover()
{
    byte from, i;
    for (i : 1 .. MOVES) {
#ifndef MARK_LATE
        version[0]++;
        version[1]++;
#endif
        slot[1 - from] = true;
        slot[from] = false;
#ifdef MARK_LATE
        version[0] = version[0] + 2;
        version[1] = version[1] + 2;
#else
        version[0]++;
        version[1]++;
#endif
        from = 1 - from
    }
}

proctype reader()
{
    byte before0, before1, after0, after1, tries;
    bool hit0, hit1;
again:
    before0 = version[0];
    before1 = version[1];
#ifdef LOOK_EARLY
    after0 = version[0];
    after1 = version[1];
#endif
    hit0 = slot[0];
    hit1 = slot[1];
#ifndef LOOK_EARLY
    after0 = version[0];
    after1 = version[1];
#endif
    if
    :: hit0 || hit1 -> skip /* perhaps: needs no validation */
    :: else ->
#ifdef NO_VERSION_CHECK
        assert(false)
#else
        if
        :: before0 % 2 == 0 && before1 % 2 == 0 && before0 == after0 && before1 == after1 ->
            assert(false) /* surely absent: wrong */
        :: else ->
            tries++;
            if
            :: tries < TRIES -> goto again
            :: else -> skip /* perhaps, and counted */
            fi
        fi
#endif
    fi
}

init {
    slot[0] = true;
    atomic { run mover(); run reader() }
}
