// SPDX-License-Identifier: MIT
#include "gate.h"

#include <sched.h>

bool perhaps__gate_init(struct perhaps__gate *gate)
{
    *gate = (struct perhaps__gate){.closed = 0};
    return pthread_mutex_init(&gate->closer, NULL) == 0;
}

void perhaps__gate_destroy(struct perhaps__gate *gate)
{
    (void)pthread_mutex_destroy(&gate->closer);
}

// Threads have different slots, as far as there are enough: their local variables have different addresses.
static uint32_t own_slot(void)
{
    static _Thread_local char here;
    uint64_t address = (uint64_t)(uintptr_t)&here;
    return (uint32_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % PERHAPS_GATE_SLOTS;
}

static bool try_to_enter(struct perhaps__gate *gate, uint32_t slot)
{
    (void)__atomic_fetch_add(&gate->slots[slot].inside, 1, __ATOMIC_SEQ_CST);
    if (PERHAPS_LIKELY(__atomic_load_n(&gate->closed, __ATOMIC_SEQ_CST) == 0)) {
        return true;
    }
    perhaps__gate_leave(gate, slot);
    return false;
}

uint32_t perhaps__gate_enter(struct perhaps__gate *gate)
{
    uint32_t slot = own_slot();
    if (PERHAPS_UNLIKELY(!try_to_enter(gate, slot))) {
        (void)__atomic_fetch_add(&gate->waiting, 1, __ATOMIC_RELAXED);
        do {
            (void)pthread_mutex_lock(&gate->closer); // waits for whoever closed it
            (void)pthread_mutex_unlock(&gate->closer);
        } while (!try_to_enter(gate, slot));
        (void)__atomic_fetch_sub(&gate->waiting, 1, __ATOMIC_RELAXED);
    }
    return slot;
}

void perhaps__gate_leave(struct perhaps__gate *gate, uint32_t slot)
{
    (void)__atomic_fetch_sub(&gate->slots[slot].inside, 1, __ATOMIC_RELEASE);
}

void perhaps__gate_close(struct perhaps__gate *gate)
{
    (void)__atomic_fetch_add(&gate->waiting, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_lock(&gate->closer);
    (void)__atomic_fetch_sub(&gate->waiting, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&gate->closed, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < PERHAPS_GATE_SLOTS; i++) {
        while (__atomic_load_n(&gate->slots[i].inside, __ATOMIC_SEQ_CST) != 0) {
            (void)sched_yield();
        }
    }
}

void perhaps__gate_open(struct perhaps__gate *gate)
{
    __atomic_store_n(&gate->closed, 0, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&gate->closer);
}

void perhaps__gate_let_in(struct perhaps__gate *gate)
{
    while (__atomic_load_n(&gate->waiting, __ATOMIC_RELAXED) != 0 &&
           __atomic_load_n(&gate->closed, __ATOMIC_RELAXED) == 0) {
        (void)sched_yield();
    }
}
