/* SPDX-License-Identifier: MIT
 *
 * How a guard's filter is exchanged while threads ask (guard/slots.h): two readers, who mark themselves and then load the
 * pointer, and an exchange that puts a new filter into place, fences for everybody, waits for those who were inside, and
 * frees the old one. A reader does not fence: its mark waits in a store buffer until something empties it, which
 * may happen at any time.
 *
 * Taken out, the model must fail:
 *   NO_FENCE      the exchange does not fence for the readers
 *   DO_NOT_WAIT   it does not wait for those inside
 *   MARK_LATE     a reader loads the pointer before it marks itself
 */
#define READERS 2
#define ROUNDS 2
#define EXCHANGES 2

byte own[READERS];     /* as the reader last wrote it: odd while it is inside */
byte visible[READERS]; /* as others see it */
byte current;
bool freed[EXCHANGES + 1];
byte running = READERS + 1;

proctype reader(byte me)
{
    byte round, filter;
    for (round : 1 .. ROUNDS) {
#ifdef MARK_LATE
        filter = current;
        own[me]++;
#else
        own[me]++;
        filter = current;
#endif
        assert(!freed[filter]);
        assert(!freed[filter]); /* at its end, too */
        own[me]++
    }
    running--
}

/* The store buffers. */
proctype buffers()
{
    byte i;
    do
    :: running == 0 -> break
    :: visible[0] != own[0] -> visible[0] = own[0]
    :: visible[1] != own[1] -> visible[1] = own[1]
    od
}

proctype exchange()
{
    byte round, i, seen;
    for (round : 1 .. EXCHANGES) {
        current = round;
#ifndef NO_FENCE
        atomic { visible[0] = own[0]; visible[1] = own[1] }
#endif
#ifndef DO_NOT_WAIT
        for (i : 0 .. READERS - 1) {
            seen = visible[i];
            if
            :: seen % 2 == 1 -> visible[i] != seen
            :: else
            fi
        }
#endif
        freed[round - 1] = true
    }
    running--
}

init {
    atomic { run reader(0); run reader(1); run buffers(); run exchange() }
}
