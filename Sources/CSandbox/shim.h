// What creating and locking a room needs but Swift's Glibc module lacks. Contains no logic.
#ifndef SLUICE_CSANDBOX_SHIM_H
#define SLUICE_CSANDBOX_SHIM_H

#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <malloc.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Landlock's system call numbers are the same on every architecture. The structure of the rules has grown since the
// headers of Linux 6.1. A kernel accepts a longer structure than it knows if the fields that it does not know are zero.
#define SLUICE_LANDLOCK_CREATE_RULESET 444
#define SLUICE_LANDLOCK_RESTRICT_SELF 446
static const uint32_t SLUICE_LANDLOCK_VERSION = 1U << 0;

struct sluice_landlock_rules {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

// syscall and prctl are variadic in C, so Swift cannot call them.
static inline long sluice_landlock_create_ruleset(const struct sluice_landlock_rules *rules, size_t size, uint32_t flags) {
    return syscall(SLUICE_LANDLOCK_CREATE_RULESET, rules, size, flags);
}
static inline long sluice_landlock_restrict_self(int rules) {
    return syscall(SLUICE_LANDLOCK_RESTRICT_SELF, rules, 0);
}
static inline int sluice_prctl(int option, unsigned long argument) { return prctl(option, argument, 0UL, 0UL, 0UL); }
static inline int sluice_capget(struct __user_cap_header_struct *header, struct __user_cap_data_struct *sets) {
    return (int)syscall(SYS_capget, header, sets);
}
static inline int sluice_capset(struct __user_cap_header_struct *header, const struct __user_cap_data_struct *sets) {
    return (int)syscall(SYS_capset, header, sets);
}
// glibc's versions change all threads, by signals. The system calls change one thread, and at this point there is
// only one.
static inline long sluice_setresuid(uid_t user) { return syscall(SYS_setresuid, user, user, user); }
static inline long sluice_setresgid(gid_t group) { return syscall(SYS_setresgid, group, group, group); }
static inline long sluice_clear_groups(void) { return syscall(SYS_setgroups, 0, NULL); }
// A macro with an argument, which Swift cannot import.
static const uint32_t SLUICE_REFUSE_ACCESS = SCMP_ACT_ERRNO(EACCES);

static inline int sluice_memory_file(void) { return (int)syscall(SYS_memfd_create, "sound", 1U /* MFD_CLOEXEC */); }
static inline int sluice_sealable_memory_file(void) {
    return (int)syscall(SYS_memfd_create, "source", 3U /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
}

// Like fork(), but the new process becomes a child of the caller's parent. PR_GET_TID_ADDRESS returns where glibc
// stores the thread id, which fork() corrects in the child. On a kernel built without it, the child keeps the
// caller's id there.
static inline pid_t sluice_fork_sibling(void) {
    int *thread = NULL;
    unsigned long flags = CLONE_PARENT | SIGCHLD;
    if (prctl(PR_GET_TID_ADDRESS, &thread, 0UL, 0UL, 0UL) == 0 && thread) flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    else thread = NULL;
#if defined(__x86_64__)
    return (pid_t)syscall(SYS_clone, flags, 0UL, NULL, thread, 0UL);
#elif defined(__aarch64__)
    return (pid_t)syscall(SYS_clone, flags, 0UL, NULL, 0UL, thread);
#else
    errno = ENOSYS;
    return -1;
#endif
}

#endif
