// What a decoder that was taken over would try. Only for tests of the lock; no product links it.
#ifndef SLUICE_HOSTILE_ACTIONS_H
#define SLUICE_HOSTILE_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>

// The targets of the actions.
struct hostile_aim {
    // A folder that every user may write to, with a file `victim` in it.
    const char *folder;
    // The path of a listening unix socket, and the port of a listening socket on 127.0.0.1.
    const char *socket;
    int port;
    // A file that is open for writing.
    int file;
    // Determined at the start, because a locked process cannot ask for it.
    int parent;
};

size_t hostile_count(void);
const char *hostile_name(size_t place);
// Whether root can do it on an ordinary kernel, so that a refusal proves something.
bool hostile_is_possible(size_t place);
// 0 if it succeeded, otherwise the errno.
int hostile_try(size_t place, const struct hostile_aim *aim);

#endif
