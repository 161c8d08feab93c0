/* SPDX-License-Identifier: MIT
 *
 * A layer is published (src/filter.c, src/layers.c): two adders find the newest layer full; one makes the next. A reader
 * goes through the layers that are counted. Capacity is one key a layer.
 *
 * Taken out, the model must fail:
 *   COUNT_FIRST   the layer is counted before it is complete (no release)
 *   NO_RECHECK    whoever gets the lock grows, whether or not another did meanwhile
 *   NO_ROOM_HELD  room is looked at and used in two steps, not reserved under the lock
 */
#define LAYERS 4

byte count = 1;
bool complete[LAYERS];
byte keys[LAYERS], in_flight[LAYERS];
bool mutex;
bool returned[2];

inline lock() { atomic { !mutex -> mutex = true } }
inline unlock() { mutex = false }

inline grow(counted)
{
    lock();
#ifdef NO_RECHECK
    if
    :: true ->
#else
    if
    :: count == counted ->
#endif
#ifdef COUNT_FIRST
        count++;
        complete[count - 1] = true
#else
        complete[count] = true;
        count++
#endif
    :: else -> skip
    fi;
    unlock()
}

proctype adder(byte me)
{
    byte newest, room;
again:
    lock();
    newest = count - 1;
    room = 1 - keys[newest] - in_flight[newest];
#ifndef NO_ROOM_HELD
    in_flight[newest] = in_flight[newest] + room;
#endif
    unlock();
    if
    :: room == 0 ->
        grow(newest + 1);
        goto again
    :: else -> skip
    fi;
    assert(complete[newest]);
    lock();
    keys[newest]++;
#ifndef NO_ROOM_HELD
    in_flight[newest]--;
#endif
    unlock();
    assert(keys[newest] <= 1);
    returned[me] = true
}

proctype reader()
{
    byte layers, i, found, expected;
    expected = returned[0] + returned[1];
    layers = count;
    for (i : 0 .. layers - 1) {
        assert(complete[i]);
        found = found + keys[i]
    }
    assert(found >= expected)
}

init {
    complete[0] = true;
    keys[0] = 1; /* full from the beginning */
    atomic { run adder(0); run adder(1); run reader() }
    timeout -> assert(count <= 3) /* two keys need two more layers */
}
