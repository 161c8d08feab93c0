/* SPDX-License-Identifier: MIT
 *
 * A key goes from layer to layer beside a reader that asks for it (src/order.h, src/compact.c). Layers are known by their
 * sizes, 1 to 4. The key is in the filter all the time, in the largest layer at first, so the reader must never be sure
 * that it is not. Meanwhile whoever changes the filter, one at a time: lets the key go to a smaller layer (copied before it is
 * taken; a removal that takes the fingerprint of another's key leaves that one in a smaller layer just so); drops an
 * empty layer; makes one that is missing, in the middle or at the end.
 *
 * The list has a word: how many layers there are, how often it changed, and whether it is being changed. Release and acquire
 * keep the order of what is written here.
 *
 * Taken out, the model must fail:
 *   NO_SECOND_LOOK  the reader believes a miss without a second look at the word
 *   NO_CHANGING     the word does not say that the list is being changed
 *   WORD_LATE       the word changes after the list only
 *   WORD_EARLY      the reader looks the second time before it has asked the layers
 *   SMALLEST_FIRST  the reader asks the smaller layers first
 *   CLEAR_FIRST     the key is taken before it is copied
 *   TO_LARGER       it goes to a larger layer
 */
#define SIZES 4
#define CHANGES 4
#define TRIES 2

bool has[SIZES + 1]; /* whether the layer of that size holds the key */
bool there[SIZES + 1]; /* whether it is in the filter */
byte count, number; /* one word: read and written together */
byte list[SIZES];

inline publish()
{
    d_step {
        n = 0;
        for (i : 1 .. SIZES) {
            if
            :: there[i] -> sorted[n] = i; n++
            :: else
            fi
        }
        i = 0
    };
#ifdef NO_CHANGING
    number = number + 2;
#elif !defined(WORD_LATE)
    number++;
#endif
    do
    :: i < n -> list[i] = sorted[i]; i++
    :: else -> break
    od;
#ifdef NO_CHANGING
    count = n;
#elif defined(WORD_LATE)
    atomic { number = number + 2; count = n };
#else
    atomic { number++; count = n };
#endif
    i = 0
}

proctype changer()
{
    byte change, from, into, i, n;
    byte sorted[SIZES];
    for (change : 1 .. CHANGES) {
        select (from : 1 .. SIZES);
        select (into : 1 .. SIZES);
        if
#ifdef TO_LARGER
        :: there[from] && has[from] && there[into] && into > from ->
#else
        :: there[from] && has[from] && there[into] && into < from ->
#endif
#ifdef CLEAR_FIRST
            has[from] = false;
            has[into] = true
#else
            has[into] = true;
            has[from] = false
#endif
        :: from > 1 && there[from] && !has[from] ->
            there[from] = false;
            publish()
        :: !there[from] ->
            there[from] = true;
            publish()
        :: else -> skip
        fi;
        d_step { from = 0; into = 0 }
    }
}

proctype reader()
{
    byte layers, seen, after_layers, after, i, at, tries;
    bool hit;
again:
    atomic { layers = count; seen = number };
#ifdef WORD_EARLY
    atomic { after_layers = count; after = number };
#endif
    for (i : 1 .. layers) {
#ifdef SMALLEST_FIRST
        at = list[i - 1];
#else
        at = list[layers - i];
#endif
        hit = hit || has[at]
    }
#ifndef WORD_EARLY
    atomic { after_layers = count; after = number };
#endif
    if
    :: hit -> skip /* perhaps: needs no validation */
    :: else ->
#ifdef NO_SECOND_LOOK
        assert(false)
#else
        if
        :: layers == 1 && seen % 2 == 0 -> assert(false) /* surely absent: wrong */
        :: else ->
            if
            :: seen % 2 == 0 && seen == after && layers == after_layers -> assert(false)
            :: else ->
                tries++;
                if
                :: tries < TRIES -> goto again
                :: else -> skip /* perhaps, and counted */
                fi
            fi
        fi
#endif
    fi
}

init {
    there[1] = true;
    there[3] = true;
    has[3] = true;
    list[0] = 1;
    list[1] = 3;
    count = 2;
    atomic { run changer(); run reader() }
}
