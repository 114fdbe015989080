/* Timers of clocks that libfaketime does not change. Loaded before it, for the worker whose wall clock the drill sets.

   libfaketime 0.9.10 takes the absolute time of every timerfd for a wall clock's. With a clock that is set back, a timer
   of CLOCK_MONOTONIC or CLOCK_BOOTTIME comes later by the difference, and so the program sleeps for hours. No kernel
   does that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { most = 65536 };
static unsigned char has_wall_clock[most];

int timerfd_create(int clock, int flags) {
    int fd = (int)syscall(SYS_timerfd_create, clock, flags);
    if (fd >= 0 && fd < most) has_wall_clock[fd] = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM;
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new_time, struct itimerspec *old_time) {
    if (fd >= 0 && fd < most && has_wall_clock[fd]) {
        int (*next)(int, int, const struct itimerspec *, struct itimerspec *) = dlsym(RTLD_NEXT, "timerfd_settime");
        return next(fd, flags, new_time, old_time);
    }
    return (int)syscall(SYS_timerfd_settime, fd, flags, new_time, old_time);
}
