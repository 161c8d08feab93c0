// SPDX-License-Identifier: MIT
// Layer 0: a gate through which writers pass, any number at once, and which a snapshot closes. Readers do not come here.
//
// A writer marks itself as inside and then looks whether the gate is closed; who closes it marks it as closed and then
// looks whether anybody is inside. Both orders are sequentially consistent, so that at least one of the two sees the
// other (Dekker 1965). Writers on different processors mark different cache lines.
#ifndef PERHAPS_GATE_H
#define PERHAPS_GATE_H

#include <pthread.h>

#include "base.h"

#define PERHAPS_GATE_SLOTS 32

struct perhaps__gate {
    struct {
        uint32_t inside; // writers
        uint8_t padding[PERHAPS_LINE - sizeof(uint32_t)];
    } slots[PERHAPS_GATE_SLOTS];
    uint32_t closed;
    uint32_t waiting;       // writers that found it closed, until they are inside; who wants to close it
    pthread_mutex_t closer; // held as long as the gate is closed
};

bool perhaps__gate_init(struct perhaps__gate *gate); // false: the system has no mutex left
void perhaps__gate_destroy(struct perhaps__gate *gate);

// A writer waits while the gate is closed. Returns the slot to leave by.
uint32_t perhaps__gate_enter(struct perhaps__gate *gate);
void perhaps__gate_leave(struct perhaps__gate *gate, uint32_t slot);

// Waits until no writer is inside, and keeps them out until the gate is opened. What they wrote happened before.
void perhaps__gate_close(struct perhaps__gate *gate);
void perhaps__gate_open(struct perhaps__gate *gate);

// For who opened the gate and is about to close it again: lets those in first who wait, unless another closes it. Without
// it they might wait for ever, for who has just unlocked a mutex is the first to lock it again.
void perhaps__gate_let_in(struct perhaps__gate *gate);

#endif
