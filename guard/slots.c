// SPDX-License-Identifier: MIT
#include "slots.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define NO_MEMBARRIER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_MEMBARRIER 1
#endif
#endif
#if !defined(NO_MEMBARRIER) && defined(SYS_membarrier) && __has_include(<linux/membarrier.h>)
#include <linux/membarrier.h>
#define HAVE_MEMBARRIER 1
#endif

uint32_t perhaps__guard_unfenced;

_Thread_local uint32_t perhaps__guard_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---------------------------------------------------------------- numbers of threads */

// One bit for each number that is taken, for all guards of the process.
static uint64_t taken[PERHAPS__GUARD_OWN_SLOTS / 64];
static uint32_t next_shared;
static uint32_t highest; // number given so far: slots behind it count nothing
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;
static bool have_key;

// What its thread counted happened before the next owner of the number counts.
static void give_back(void *number)
{
    uint32_t bit = (uint32_t)(uintptr_t)number - 1;
    perhaps__guard_thread = 0;
    (void)__atomic_fetch_and(&taken[bit / 64], ~(UINT64_C(1) << bit % 64), __ATOMIC_RELEASE);
}

static void make_key(void)
{
    have_key = pthread_key_create(&at_exit, give_back) == 0;
}

// The lowest number that is free plus one, or 0.
static uint32_t take_number(void)
{
    for (uint32_t word = 0; word < PERHAPS__GUARD_OWN_SLOTS / 64; word++) {
        uint64_t now = __atomic_load_n(&taken[word], __ATOMIC_RELAXED);
        while (~now != 0) {
            uint32_t bit = (uint32_t)__builtin_ctzll(~now);
            if (__atomic_compare_exchange_n(&taken[word], &now, now | UINT64_C(1) << bit, false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED)) {
                return word * 64 + bit + 1;
            }
        }
    }
    return 0;
}

// Without a way to give the number back when the thread ends, numbers would run out: then it shares.
uint32_t perhaps__guard_number_thread(void)
{
    (void)pthread_once(&once, make_key);
    uint32_t number = have_key ? take_number() : 0;
    if (number != 0 && pthread_setspecific(at_exit, (void *)(uintptr_t)number) != 0) {
        give_back((void *)(uintptr_t)number);
        number = 0;
    }
    if (number == 0) {
        uint32_t shared = __atomic_fetch_add(&next_shared, 1, __ATOMIC_RELAXED) % PERHAPS__GUARD_SHARED_SLOTS;
        number = PERHAPS__GUARD_OWN_SLOTS + shared + 1;
    }
    uint32_t before = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    while (before < number &&
           !__atomic_compare_exchange_n(&highest, &before, number, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    perhaps__guard_thread = number;
    return number;
}

/* ---------------------------------------------------------------- a fence for all threads */

#ifdef HAVE_MEMBARRIER
static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0U, 0) == 0;
}

static void fence_everybody(void)
{
    // It was registered, so that nothing but a moment without memory can keep it from being done.
    while (perhaps__guard_unfenced != 0 && !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        (void)membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        (void)sched_yield();
    }
}

static void begin_once(void)
{
    perhaps__guard_unfenced =
        membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
#else
static void fence_everybody(void)
{
}

static void begin_once(void)
{
}
#endif

void perhaps__guard_slots_begin(void)
{
    static pthread_once_t begun = PTHREAD_ONCE_INIT;
    (void)pthread_once(&begun, begin_once);
}

/* ---------------------------------------------------------------- all slots */

static bool is_inside(const struct perhaps__guard_slot *slots, uint32_t i, uint64_t at_first)
{
    uint64_t now = __atomic_load_n(&slots[i].inside, __ATOMIC_SEQ_CST);
    return i < PERHAPS__GUARD_OWN_SLOTS ? now == at_first && now % 2 == 1 : now != 0;
}

void perhaps__guard_wait_for_readers(const struct perhaps__guard_slot *slots)
{
    fence_everybody();
    for (uint32_t i = 0; i < PERHAPS__GUARD_SLOTS; i++) {
        uint64_t at_first = __atomic_load_n(&slots[i].inside, __ATOMIC_SEQ_CST);
        while (is_inside(slots, i, at_first)) {
            (void)sched_yield();
        }
    }
}

struct perhaps__guard_counts perhaps__guard_sum(const struct perhaps__guard_slot *slots)
{
    struct perhaps__guard_counts sum = {0};
    uint32_t count = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    // Results before questions: who reads meanwhile never sees more answers than there were questions.
    for (uint32_t i = 0; i < count; i++) {
        sum.confirmed += __atomic_load_n(&slots[i].counts.confirmed, __ATOMIC_ACQUIRE);
        sum.refuted += __atomic_load_n(&slots[i].counts.refuted, __ATOMIC_ACQUIRE);
        sum.unfiltered += __atomic_load_n(&slots[i].counts.unfiltered, __ATOMIC_RELAXED);
    }
    for (uint32_t i = 0; i < count; i++) {
        sum.surely_absent += __atomic_load_n(&slots[i].counts.surely_absent, __ATOMIC_RELAXED);
        sum.perhaps += __atomic_load_n(&slots[i].counts.perhaps, __ATOMIC_RELAXED);
        sum.absent_sample += __atomic_load_n(&slots[i].counts.absent_sample, __ATOMIC_RELAXED);
        sum.absent_sample += __atomic_load_n(&slots[i].sampled, __ATOMIC_RELAXED) != 0; // as if it were new
    }
    return sum;
}
