// What Swift's Glibc module lacks: functions that need _GNU_SOURCE or are variadic, and macros. Contains no logic.
#ifndef SLUICE_CSYSTEM_SHIM_H
#define SLUICE_CSYSTEM_SHIM_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

// glibc declares these only for _GNU_SOURCE, which Swift's Glibc module does without. A module that defines it would see
// other structures than that one.
int pipe2(int ends[2], int flags);
int renameat2(int old_folder, const char *old_name, int new_folder, const char *new_name, unsigned int flags);
int syncfs(int descriptor);
int sync_file_range(int descriptor, int64_t offset, int64_t count, unsigned int flags);
const char *strerrorname_np(int number);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *folder);
int wcwidth(wchar_t character);

// For functions that give the kernel a local structure. The compiler drops the stack check of a C function that it inlines
// into a Swift function.
#define SLUICE_OWN_STACK static __attribute__((noinline, unused))

// prctl and syscall are variadic in C, so Swift cannot call them.
static inline int sluice_name_thread(const char *name) { return prctl(PR_SET_NAME, name, 0UL, 0UL, 0UL); }
// glibc 2.35 and earlier have no function for pidfd_open; its number is the same on every architecture.
static inline int sluice_pidfd_open(pid_t process) { return (int)syscall(434, process, 0U); }
// glibc 2.33 and earlier have no function for close_range; its number is the same on every architecture.
static inline int sluice_close_from(unsigned int first) { return (int)syscall(436, first, ~0U, 0U); }
// glibc has no function for openat2.
SLUICE_OWN_STACK int sluice_openat2(int folder, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve) {
    struct open_how how = {flags, mode, resolve};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}
// Swift's Glibc module has no timerfd. The clock is that of ContinuousClock, which also counts the time for which the machine
// was suspended. A length of 0 stops the timer.
static inline int sluice_open_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }
static inline int sluice_set_timer(int timer, int64_t seconds, int64_t nanoseconds) {
    struct itimerspec once = {{0, 0}, {seconds, nanoseconds}};
    return timerfd_settime(timer, 0, &once, NULL);
}
// The type of a resource is an enumeration in C with _GNU_SOURCE, and an int elsewhere.
SLUICE_OWN_STACK int sluice_set_limits(int resource, uint64_t soft, uint64_t hard) {
    struct rlimit both = {soft, hard};
    return setrlimit(resource, &both);
}
SLUICE_OWN_STACK uint64_t sluice_soft_limit(int resource) {
    struct rlimit both = {0, 0};
    return getrlimit(resource, &both) == 0 ? both.rlim_cur : 0;
}
SLUICE_OWN_STACK uint64_t sluice_hard_limit(int resource) {
    struct rlimit both = {0, 0};
    return getrlimit(resource, &both) == 0 ? both.rlim_max : 0;
}
static const int SLUICE_RLIMIT_AS = RLIMIT_AS;
static const int SLUICE_RLIMIT_CPU = RLIMIT_CPU;
static const int SLUICE_RLIMIT_FSIZE = RLIMIT_FSIZE;
static const int SLUICE_RLIMIT_NOFILE = RLIMIT_NOFILE;
static const int SLUICE_RLIMIT_NPROC = RLIMIT_NPROC;
static const int SLUICE_RLIMIT_CORE = RLIMIT_CORE;
// The magic number of the descriptor's file system; 0 if it cannot be read. The structure's fields have other types
// on other architectures.
SLUICE_OWN_STACK int64_t sluice_file_system_magic(int descriptor) {
    struct statfs facts;
    return fstatfs(descriptor, &facts) == 0 ? (int64_t)(uint32_t)facts.f_type : 0;
}

// Values that depend on the architecture, or that need _GNU_SOURCE.
static const int32_t SLUICE_O_TMPFILE = 020000000 | O_DIRECTORY;
static const int32_t SLUICE_O_PATH = 010000000;
static const int32_t SLUICE_F_SETSIG = 10;
static const int32_t SLUICE_F_SETLEASE = 1024;
static const int32_t SLUICE_SEEK_HOLE = 4;
static const int32_t SLUICE_FNM_CASEFOLD = 16;
static const uint32_t SLUICE_RENAME_NOREPLACE = 1;
static const uint32_t SLUICE_SYNC_FILE_RANGE_WAIT_BEFORE = 1;

#endif
