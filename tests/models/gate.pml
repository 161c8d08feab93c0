/* SPDX-License-Identifier: MIT
 *
 * The gate of src/gate.c: two writers, each of whose writes is two steps, and two snapshots, which must see both or neither,
 * and everything that was written before it began.
 *
 * Taken out, the model must fail:
 *   LOOK_FIRST    a writer looks whether the gate is closed before it marks itself as inside (what happens when the two
 *                 are not sequentially consistent: the mark waits in a store buffer)
 *   DO_NOT_WAIT   the snapshot does not wait for the writers inside
 *   NO_SECOND_LOOK  a writer that found the gate closed goes in when it has waited, without marking and looking again
 */
#define WRITERS 2
#define ROUNDS 1

byte inside[WRITERS];
bool closed;
bool closer; /* the mutex */
byte low[WRITERS], high[WRITERS]; /* the two halves of what a writer writes */
byte returned[WRITERS];           /* writes whose call has returned */

inline lock() { atomic { !closer -> closer = true } }
inline unlock() { closer = false }

proctype writer(byte me)
{
    byte round;
    bool found_closed;
    for (round : 1 .. ROUNDS) {
again:
#ifdef LOOK_FIRST
        found_closed = closed;
        inside[me]++;
#else
        inside[me]++;
        found_closed = closed;
#endif
        if
        :: found_closed ->
            inside[me]--;
            lock();
            unlock();
#ifdef NO_SECOND_LOOK
            inside[me]++;
#else
            goto again
#endif
        :: else
        fi;
        low[me] = round;
        high[me] = round;
        inside[me]--;
        returned[me] = round
    }
}

proctype snapshot()
{
    byte i, before[WRITERS], seen_low[WRITERS], seen_high[WRITERS];
    for (i : 0 .. WRITERS - 1) {
        before[i] = returned[i]
    }
    lock();
    closed = true;
#ifndef DO_NOT_WAIT
    for (i : 0 .. WRITERS - 1) {
        inside[i] == 0
    }
#endif
    for (i : 0 .. WRITERS - 1) {
        seen_low[i] = low[i]
    }
    for (i : 0 .. WRITERS - 1) {
        seen_high[i] = high[i]
    }
    closed = false;
    unlock();
    for (i : 0 .. WRITERS - 1) {
        assert(seen_low[i] == seen_high[i]);
        assert(seen_low[i] >= before[i])
    }
}

init {
    atomic { run writer(0); run writer(1); run snapshot(); run snapshot() }
}
