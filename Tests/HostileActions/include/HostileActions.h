// What a decoder that was taken over would try. For tests of the lock alone; no product links it.
#ifndef SLUICE_HOSTILE_ACTIONS_H
#define SLUICE_HOSTILE_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>

// What the actions are about.
struct hostile_aim {
    // A folder that anybody may write to, with a file `victim` in it.
    const char *folder;
    // A unix socket that somebody listens on, and the port of one on 127.0.0.1.
    const char *socket;
    int port;
    // An open file, for writing.
    int file;
    // Read at the start: afterwards it could not be asked for.
    int parent;
};

size_t hostile_count(void);
const char *hostile_name(size_t place);
// Whether root can do it on an ordinary kernel, so that its failure means something.
bool hostile_is_possible(size_t place);
// 0 where it succeeded, otherwise the errno.
int hostile_try(size_t place, const struct hostile_aim *aim);

#endif
