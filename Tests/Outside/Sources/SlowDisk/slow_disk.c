#define _GNU_SOURCE
#include "slow_disk.h"
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic unsigned delay;

void set_slow_disk(unsigned microseconds) { delay = microseconds; }

// In place of the C library's function, for the whole program.
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    unsigned wait = delay;
    // The pause is what makes the disk slow.
    if (wait > 0) usleep(wait);
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}
