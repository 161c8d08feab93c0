// SPDX-License-Identifier: MIT
// Where threads that ask leave their marks: one cache line or two for each, so that asking writes nothing that another
// thread writes.
//
// A reader marks itself as inside and then loads the pointer to what it reads; who exchanges the pointer does that and then
// waits until everybody has left who was inside at that moment. Either the reader loads the new pointer or the other sees
// it inside (Dekker 1965), provided that both do these two things in this order. A fence for that in the reader costs more
// than its few nanoseconds: look-ups of one thread no longer overlap, and memory is waited for. So the other side fences for
// both, with membarrier(2), as liburcu does (Desnoyers and others 2012): it runs a fence on every processor on which
// a thread of this process is. Where the system has no such call, and for ThreadSanitizer, which knows nothing of it, the
// reader fences.
#ifndef PERHAPS_GUARD_SLOTS_H
#define PERHAPS_GUARD_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#define PERHAPS__GUARD_LINE 64
// Threads that have a slot for themselves; further ones share the others, at the cost of more locked instructions.
#define PERHAPS__GUARD_OWN_SLOTS 128
#define PERHAPS__GUARD_SHARED_SLOTS 16
#define PERHAPS__GUARD_SLOTS (PERHAPS__GUARD_OWN_SLOTS + PERHAPS__GUARD_SHARED_SLOTS)

// Counters that every thread keeps by itself, and that are summed when somebody wants to know.
struct perhaps__guard_counts {
    uint64_t surely_absent;
    uint64_t perhaps;
    uint64_t confirmed;
    uint64_t refuted;
    uint64_t unfiltered;    // of refuted: not let through by the filter in use
    uint64_t absent_sample; // distinct absent keys in the alarm's sample that were turned away
};

struct perhaps__guard_slot {
    uint64_t inside; // own: odd while its thread reads; shared: how many read
    struct perhaps__guard_counts counts;
    uint64_t
        sampled; // the last hash of the alarm's sample that was turned away, plus 1, still to be looked for; 0: none
    uint8_t padding[2 * PERHAPS__GUARD_LINE - 8 * sizeof(uint64_t)];
} __attribute__((aligned(64)));

// 0: readers fence. Set before the first guard is made.
extern uint32_t perhaps__guard_unfenced __attribute__((visibility("hidden")));

// To be called once before slots are used.
void perhaps__guard_slots_begin(void);

// The number of this thread plus one, 0 until it has one. Initial-exec: a load instead of a call, for four bytes.
extern _Thread_local uint32_t perhaps__guard_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Gives this thread the lowest number that is free, until it ends; beyond the own slots a shared one.
uint32_t perhaps__guard_number_thread(void);

static inline struct perhaps__guard_slot *perhaps__guard_slot(struct perhaps__guard_slot *slots)
{
    uint32_t number = perhaps__guard_thread;
    return &slots[(__builtin_expect(number != 0, 1) ? number : perhaps__guard_number_thread()) - 1];
}

static inline bool perhaps__guard_is_own(const struct perhaps__guard_slot *slots,
                                         const struct perhaps__guard_slot *slot)
{
    return slot < slots + PERHAPS__GUARD_OWN_SLOTS;
}

static inline void perhaps__guard_count(uint64_t *counter, uint64_t more, bool own)
{
    if (__builtin_expect(own, 1)) {
        __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
    } else {
        (void)__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
    }
}

// Returns what was there.
static inline uint64_t perhaps__guard_put_in(uint64_t *place, uint64_t value, bool own)
{
    if (__builtin_expect(!own, 0)) {
        return __atomic_exchange_n(place, value, __ATOMIC_RELAXED);
    }
    uint64_t before = __atomic_load_n(place, __ATOMIC_RELAXED);
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
    return before;
}

static inline void perhaps__guard_enter(struct perhaps__guard_slot *slot, bool own)
{
    if (__builtin_expect(!own, 0)) {
        (void)__atomic_fetch_add(&slot->inside, 1, __ATOMIC_SEQ_CST);
        return;
    }
    uint64_t inside = __atomic_load_n(&slot->inside, __ATOMIC_RELAXED) + 1;
    if (__builtin_expect(perhaps__guard_unfenced != 0, 1)) {
        __atomic_store_n(&slot->inside, inside, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); // the compiler keeps the order; the other side does the rest
    } else {
        __atomic_store_n(&slot->inside, inside, __ATOMIC_SEQ_CST);
    }
}

// An own mark is loaded again, which costs less than a register to keep it in meanwhile.
static inline void perhaps__guard_leave(struct perhaps__guard_slot *slot, bool own)
{
    if (__builtin_expect(own, 1)) {
        uint64_t inside = __atomic_load_n(&slot->inside, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->inside, inside + 1, __ATOMIC_RELEASE);
    } else {
        (void)__atomic_fetch_sub(&slot->inside, 1, __ATOMIC_RELEASE);
    }
}

// Waits until everybody has left who was inside when the call began.
void perhaps__guard_wait_for_readers(const struct perhaps__guard_slot *slots);

struct perhaps__guard_counts perhaps__guard_sum(const struct perhaps__guard_slot *slots);

#endif
