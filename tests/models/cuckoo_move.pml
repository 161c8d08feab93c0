/* SPDX-License-Identifier: MIT
 *
 * A fingerprint moves between its two buckets, to and fro, beside a reader that asks for it (src/cuckoo_shared.c). It is
 * in the filter all the time, so the reader must never be sure that it is not.
 *
 * A word of moves, one for the whole table, counts how many began and how many are not over. A reader that finds none at
 * it believes a miss when the word is the same afterwards. Otherwise it looks again with the versions of its two buckets,
 * each odd while something moves from or to it. A release store or exchange keeps the order of what a writer does, acquire
 * loads that of what a reader does; the model has both orders as they are written.
 *
 * Taken out, the model must fail:
 *   NO_WORD_CHECK     the reader believes a miss without a second look at the word
 *   NO_AT_IT          the word counts moves that began, and not whether they are over
 *   WORD_LATE         it changes after the move only (no release)
 *   WORD_EARLY        the reader loads it the second time before it has read the buckets (no acquire)
 *   NO_VERSION_CHECK  the reader believes a miss beside moves
 *   MARK_LATE         versions change after the move only
 *   LOOK_EARLY        the reader loads the versions the second time before it has read the buckets
 */
#define MOVES 4
#define TRIES 2

byte begun, at_it; /* one word: read and written together */
byte version[2];
bool slot[2]; /* whether the bucket holds the fingerprint */

#define STEP version[0]++; version[1]++

#ifdef NO_AT_IT
#define BEGIN begun++
#define END skip
#else
#define BEGIN atomic { begun++; at_it++ }
#define END at_it--
#endif

proctype mover()
{
    byte from, i;
    for (i : 1 .. MOVES) {
#ifndef WORD_LATE
        BEGIN;
#endif
#ifndef MARK_LATE
        STEP;
#endif
        slot[1 - from] = true;
        slot[from] = false;
#ifdef MARK_LATE
        STEP;
#endif
        STEP;
#ifdef WORD_LATE
        BEGIN;
#endif
        END;
        from = 1 - from
    }
}

proctype reader()
{
    byte before_begun, before_at_it, after_begun, after_at_it;
    byte before0, before1, after0, after1, tries;
    bool hit0, hit1;

    atomic { before_begun = begun; before_at_it = at_it };
#ifdef WORD_EARLY
    atomic { after_begun = begun; after_at_it = at_it };
#endif
    hit0 = slot[0];
    hit1 = slot[1];
#ifndef WORD_EARLY
    atomic { after_begun = begun; after_at_it = at_it };
#endif
#ifdef NO_WORD_CHECK
    assert(hit0 || hit1);
#endif
    if
    :: hit0 || hit1 -> goto done /* perhaps: needs no validation */
    :: else ->
        if
        :: before_at_it == 0 && before_begun == after_begun && before_at_it == after_at_it ->
            assert(false) /* surely absent: wrong */
        :: else -> skip
        fi
    fi;
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
    :: hit0 || hit1 -> skip
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
    fi;
done:
    skip
}

init {
    slot[0] = true;
    atomic { run mover(); run reader() }
}
