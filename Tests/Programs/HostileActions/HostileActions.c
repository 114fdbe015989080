// Each action makes its system call directly, so that glibc does nothing before or after it.
#define _GNU_SOURCE
#include "HostileActions.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// For a sixth argument, which lies on the stack. A plain 0 would fill only half of that word, and the kernel would
// refuse whatever is in the other half as unknown flags.
#define NO_FLAGS 0L

#define ACTION(name) static long name(const struct hostile_aim *aim)
typedef long action(const struct hostile_aim *aim);

static char text[4096];
static const char *in(const struct hostile_aim *aim, const char *name) {
    snprintf(text, sizeof text, "%s/%s-%d", aim->folder, name, (int)aim->parent);
    return text;
}
static const char *victim(const struct hostile_aim *aim) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/victim", aim->folder);
    return path;
}
static const char *of_parent(const struct hostile_aim *aim, const char *file) {
    snprintf(text, sizeof text, "/proc/%d/%s", aim->parent, file);
    return text;
}
static long read_all(const char *path) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (file < 0) return -1;
    char byte;
    long count = read(file, &byte, 1);
    close(file);
    return count;
}

// Files.
ACTION(read_passwords) { (void)aim; return read_all("/etc/passwd"); }
ACTION(read_victim) { return read_all(victim(aim)); }
ACTION(read_own_maps) { (void)aim; return read_all("/proc/self/maps"); }
ACTION(read_environment_of_parent) { return read_all(of_parent(aim, "environ")); }
ACTION(read_words_of_parent) { return read_all(of_parent(aim, "cmdline")); }
ACTION(open_memory_of_parent) { return syscall(SYS_openat, AT_FDCWD, of_parent(aim, "mem"), O_RDWR); }
ACTION(list_folder) { return syscall(SYS_openat, AT_FDCWD, aim->folder, O_RDONLY | O_DIRECTORY); }
ACTION(find_path) { return syscall(SYS_openat, AT_FDCWD, victim(aim), O_PATH); }
ACTION(write_to_victim) { return syscall(SYS_openat, AT_FDCWD, victim(aim), O_WRONLY); }
ACTION(create_file) { return syscall(SYS_openat, AT_FDCWD, in(aim, "created"), O_CREAT | O_WRONLY, 0600); }
ACTION(create_unnamed_file) { return syscall(SYS_openat, AT_FDCWD, aim->folder, O_TMPFILE | O_RDWR, 0600); }
ACTION(open_by_second_call) {
    struct { uint64_t flags, mode, resolve; } how = {O_RDONLY, 0, 0};
    return syscall(437, AT_FDCWD, victim(aim), &how, sizeof how);
}
ACTION(make_folder) { return syscall(SYS_mkdirat, AT_FDCWD, in(aim, "folder"), 0700); }
ACTION(make_device) { return syscall(SYS_mknodat, AT_FDCWD, in(aim, "device"), S_IFIFO | 0600, 0); }
ACTION(make_symbolic_link) { return syscall(SYS_symlinkat, "/etc/passwd", AT_FDCWD, in(aim, "symbolic")); }
ACTION(make_link) { return syscall(SYS_linkat, AT_FDCWD, victim(aim), AT_FDCWD, in(aim, "link"), 0); }
ACTION(move_file) { return syscall(SYS_renameat2, AT_FDCWD, victim(aim), AT_FDCWD, in(aim, "moved"), 0); }
ACTION(remove_file) { return syscall(SYS_unlinkat, AT_FDCWD, victim(aim), 0); }
ACTION(change_mode) { return syscall(SYS_fchmodat, AT_FDCWD, victim(aim), 0777); }
ACTION(change_mode_of_open_file) { return syscall(SYS_fchmod, aim->file, 04777); }
ACTION(change_owner_of_open_file) { return syscall(SYS_fchown, aim->file, 0, 0); }
ACTION(cut_file) { return syscall(SYS_truncate, victim(aim), 0); }
ACTION(set_attribute) { return syscall(SYS_setxattr, victim(aim), "user.a", "b", 1, 0); }
ACTION(look_at_file) {
    struct stat status;
    return syscall(SYS_newfstatat, AT_FDCWD, victim(aim), &status, 0);
}
ACTION(look_at_file_anew) {
    char status[512];
    return syscall(SYS_statx, AT_FDCWD, victim(aim), 0, 0x7FF, status);
}
ACTION(ask_for_access) { return syscall(SYS_faccessat, AT_FDCWD, victim(aim), R_OK); }
ACTION(read_link) {
    char link[256];
    return syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", link, sizeof link);
}
ACTION(go_to_folder) { return syscall(SYS_chdir, aim->folder); }
ACTION(change_root) { return syscall(SYS_chroot, aim->folder); }
ACTION(watch_folder) { (void)aim; return syscall(SYS_inotify_init1, 0); }
ACTION(get_handle) {
    struct { unsigned bytes; int type; char handle[128]; } handle = {128, 0, {0}};
    int mount;
    return syscall(SYS_name_to_handle_at, AT_FDCWD, victim(aim), &handle, &mount, 0);
}
ACTION(write_beyond_budget) { return syscall(SYS_pwrite64, aim->file, "x", 1, (long)1 << 40); }
ACTION(cut_beyond_budget) { return syscall(SYS_ftruncate, aim->file, ((long)1 << 40) + 1); }
ACTION(reserve_disk) { return syscall(SYS_fallocate, aim->file, 0, 0, 4096); }
ACTION(control_device) { return syscall(SYS_ioctl, aim->file, 0x5451 /* FIOCLEX */, 0); }
ACTION(own_signals_of_file) { return syscall(SYS_fcntl, aim->file, F_SETOWN, aim->parent); }
ACTION(lock_file) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return syscall(SYS_fcntl, aim->file, F_SETLK, &lock);
}

// Processes.
static long become(long process) {
    if (process == 0) syscall(SYS_exit_group, 0);
    if (process > 0) waitpid((pid_t)process, NULL, __WALL);
    return process;
}
ACTION(start_process) { (void)aim; return become(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }
ACTION(start_process_anew) {
    (void)aim;
    struct { uint64_t words[8]; } arguments = {{0, 0, 0, 0, SIGCHLD, 0, 0, 0}};
    return become(syscall(435, &arguments, sizeof arguments));
}
ACTION(start_namespace) { (void)aim; return become(syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, 0, 0, 0, 0)); }
static int thread(void *nothing) { (void)nothing; return 0; }
ACTION(start_thread) {
    (void)aim;
    static char stack[1 << 16] __attribute__((aligned(16)));
    return clone(thread, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, NULL);
}
ACTION(execute_program) {
    (void)aim;
    char *words[] = {"/bin/true", NULL}, *environment[] = {NULL};
    return syscall(SYS_execve, words[0], words, environment);
}
ACTION(execute_memory) {
    (void)aim;
    int file = (int)syscall(SYS_memfd_create, "x", 0);
    if (file < 0) return -1;
    char *words[] = {"x", NULL}, *environment[] = {NULL};
    int program = open("/bin/true", O_RDONLY);
    char bytes[4096];
    for (long count; (count = read(program, bytes, sizeof bytes)) > 0;) write(file, bytes, (size_t)count);
    return syscall(SYS_execveat, file, "", words, environment, AT_EMPTY_PATH);
}
ACTION(trace_parent) { return syscall(SYS_ptrace, PTRACE_SEIZE, aim->parent, 0, 0); }
ACTION(be_traced) { (void)aim; return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }
ACTION(read_memory_of_parent) {
    static char byte, local;
    struct iovec here = {&local, 1}, there = {&byte, 1};
    long count = syscall(SYS_process_vm_readv, aim->parent, &here, 1, &there, 1, NO_FLAGS);
    // EFAULT: the parent has nothing at that address, but the kernel did look.
    return count < 0 && errno == EFAULT ? 0 : count;
}
ACTION(write_memory_of_parent) {
    static char local;
    // Nothing is ever mapped at this address. EFAULT therefore means that the kernel allowed the access.
    struct iovec here = {&local, 1}, there = {(void *)16, 1};
    long count = syscall(SYS_process_vm_writev, aim->parent, &here, 1, &there, 1, NO_FLAGS);
    return count < 0 && errno == EFAULT ? 0 : count;
}
ACTION(signal_parent) { return syscall(SYS_kill, aim->parent, 0); }
ACTION(signal_thread_of_parent) { return syscall(SYS_tgkill, aim->parent, aim->parent, 0); }
ACTION(signal_by_number_of_thread) { return syscall(SYS_tkill, aim->parent, 0); }
ACTION(queue_signal) {
    siginfo_t information = {.si_code = SI_QUEUE};
    return syscall(SYS_rt_sigqueueinfo, aim->parent, 0, &information);
}
ACTION(signal_itself) { (void)aim; return syscall(SYS_kill, getpid(), 0); }
ACTION(get_hold_of_parent) { return syscall(434, aim->parent, 0); }
ACTION(compare_with_parent) { return syscall(SYS_kcmp, getpid(), aim->parent, 0, 0, 0) < 0 ? -1 : 0; }
ACTION(take_priority) { (void)aim; return syscall(SYS_setpriority, 0, 0, -20); }
ACTION(take_processor) {
    (void)aim;
    struct sched_param priority = {.sched_priority = 1};
    return syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &priority);
}
ACTION(bind_to_processor) {
    (void)aim;
    unsigned long set = 1;
    return syscall(SYS_sched_setaffinity, 0, sizeof set, &set);
}
ACTION(leave_session) { (void)aim; return syscall(SYS_setsid); }
ACTION(leave_group) { (void)aim; return syscall(SYS_setpgid, 0, 0); }

// Networks.
static long connected(int family, int kind, const void *address, socklen_t size) {
    int file = (int)syscall(SYS_socket, family, kind, 0);
    return file < 0 ? -1 : syscall(SYS_connect, file, address, size);
}
static struct sockaddr_in local(const struct hostile_aim *aim) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)aim->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}
ACTION(connect_over_tcp) {
    struct sockaddr_in address = local(aim);
    return connected(AF_INET, SOCK_STREAM, &address, sizeof address);
}
ACTION(connect_over_udp) {
    struct sockaddr_in address = local(aim);
    return connected(AF_INET, SOCK_DGRAM, &address, sizeof address);
}
ACTION(connect_over_unix) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, aim->socket, sizeof address.sun_path - 1);
    return connected(AF_UNIX, SOCK_STREAM, &address, sizeof address);
}
ACTION(listen_over_tcp) {
    (void)aim;
    struct sockaddr_in address = {.sin_family = AF_INET};
    int file = (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    return file < 0 ? -1 : syscall(SYS_bind, file, &address, sizeof address);
}
ACTION(talk_to_kernel) { (void)aim; return syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 0); }
ACTION(open_raw_socket) { (void)aim; return syscall(SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP); }
ACTION(open_packet_socket) { (void)aim; return syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0); }
ACTION(pair_sockets) {
    (void)aim;
    int ends[2];
    return syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends);
}
ACTION(make_pipe) {
    (void)aim;
    int ends[2];
    return syscall(SYS_pipe2, ends, 0);
}

// Memory.
ACTION(map_executable) {
    (void)aim;
    return (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -1 ? -1 : 0;
}
ACTION(make_executable) {
    (void)aim;
    static char page[8192] __attribute__((aligned(4096)));
    return syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
}
ACTION(make_executable_by_key) {
    (void)aim;
    static char page[8192] __attribute__((aligned(4096)));
    return syscall(SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1);
}
ACTION(make_code_writable) {
    (void)aim;
    uintptr_t page = (uintptr_t)&hostile_count & ~(uintptr_t)4095;
    return syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
}
ACTION(take_memory_beyond_budget) {
    (void)aim;
    void *memory = mmap(NULL, (size_t)3 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? -1 : 0;
}
ACTION(make_memory_file) { (void)aim; return syscall(SYS_memfd_create, "x", 0); }
ACTION(make_secret_memory) { (void)aim; return syscall(447, 0); }
ACTION(share_memory) { (void)aim; return syscall(SYS_shmget, 0, 4096, 0600 | 01000); }
ACTION(handle_faults) { (void)aim; return syscall(SYS_userfaultfd, 0); }
ACTION(lock_memory) { (void)aim; return syscall(SYS_mlockall, 1); }

// Limits and rights.
static long raise_limit(int resource) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    return syscall(SYS_prlimit64, 0, resource, &limit, NULL);
}
ACTION(raise_limit_of_memory) { (void)aim; return raise_limit(RLIMIT_AS); }
ACTION(raise_limit_of_file) { (void)aim; return raise_limit(RLIMIT_FSIZE); }
ACTION(raise_limit_of_processes) { (void)aim; return raise_limit(RLIMIT_NPROC); }
ACTION(raise_limit_of_core) { (void)aim; return raise_limit(RLIMIT_CORE); }
ACTION(change_limit_of_parent) {
    struct rlimit limit;
    return syscall(SYS_prlimit64, aim->parent, RLIMIT_NOFILE, NULL, &limit);
}
ACTION(become_root) { (void)aim; return syscall(SYS_setuid, 0); }
ACTION(become_somebody) { (void)aim; return syscall(SYS_setresuid, 1, 1, 1); }
ACTION(become_root_group) { (void)aim; return syscall(SYS_setgid, 0); }
ACTION(join_groups) {
    (void)aim;
    gid_t group = 0;
    return syscall(SYS_setgroups, 1, &group);
}
ACTION(take_capabilities) {
    (void)aim;
    struct { uint32_t version; int process; } header = {0x20080522, 0};
    uint32_t sets[6] = {1, 1, 1, 0, 0, 0};
    return syscall(SYS_capset, &header, sets);
}
ACTION(become_dumpable) { (void)aim; return syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); }
ACTION(outlive_starter) { (void)aim; return syscall(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0); }
ACTION(filter_anew) { (void)aim; return syscall(SYS_seccomp, 2 /* which actions there are */, 0, &(uint32_t){0x7FFF0000}); }
ACTION(replace_handler) {
    (void)aim;
    struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } old;
    return syscall(SYS_rt_sigaction, SIGSYS, NULL, &old, 8);
}

// Rarely used parts of the kernel.
ACTION(leave_namespaces) { (void)aim; return syscall(SYS_unshare, CLONE_NEWNS); }
ACTION(mount_something) { return syscall(SYS_mount, "none", aim->folder, "nothing-of-the-kind", 0, 0); }
ACTION(open_ring) {
    (void)aim;
    char parameters[120] = {0};
    return syscall(425, 1, parameters);
}
ACTION(load_program) {
    (void)aim;
    struct { uint32_t type, key, value, entries, rest[28]; } map = {2, 4, 4, 1, {0}};
    return syscall(SYS_bpf, 0, &map, sizeof map);
}
ACTION(count_events) {
    (void)aim;
    struct { uint32_t type, size; uint64_t config, rest[14]; } event = {1, 128, 0, {0}};
    return syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
}
ACTION(ask_for_keys) { (void)aim; return syscall(SYS_keyctl, 0, -3, 1); }
ACTION(add_key) { (void)aim; return syscall(SYS_add_key, "user", "sluice", "x", 1, -1); }
ACTION(load_module) { (void)aim; return syscall(SYS_init_module, "", 0, ""); }
ACTION(read_kernel_log) { (void)aim; return syscall(SYS_syslog, 10, 0, 0); }
ACTION(change_personality) { (void)aim; return syscall(SYS_personality, 0x0400000); }
ACTION(wait_for_events) { (void)aim; return syscall(SYS_epoll_create1, 0); }
ACTION(set_clock) { (void)aim; return syscall(SYS_clock_settime, 99, 0); }
ACTION(copy_between_files) { return syscall(SYS_copy_file_range, aim->file, 0, aim->file, 0, 0, NO_FLAGS); }
ACTION(take_signals_by_file) {
    (void)aim;
    uint64_t none = 0;
    return syscall(SYS_signalfd4, -1, &none, 8, 0);
}
ACTION(read_clock_of_parent) {
    (void)aim;
    struct timespec time;
    // The kernel's encoding of a process's clock: its inverted id, and which of its clocks.
    return clock_gettime((clockid_t)((~(unsigned)getppid() << 3) | 2), &time);
}
ACTION(look_at_clock_of_parent) {
    (void)aim;
    struct timespec step;
    return clock_getres((clockid_t)((~(unsigned)getppid() << 3) | 2), &step);
}
ACTION(move_waiting_threads) {
    (void)aim;
    int words[2] = {0, 0};
    return syscall(SYS_futex, &words[0], 3 /* FUTEX_REQUEUE */, 1, 1, &words[1], 0);
}
ACTION(wake_and_write) {
    (void)aim;
    int words[2] = {0, 0};
    return syscall(SYS_futex, &words[0], 5 | 128 /* FUTEX_WAKE_OP, private */, 1, 1, &words[1], 0);
}
ACTION(hide_memory_from_children) {
    (void)aim;
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return madvise(page, 4096, MADV_DONTFORK);
}
ACTION(merge_equal_pages) {
    (void)aim;
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return madvise(page, 4096, MADV_MERGEABLE);
}
#ifdef __x86_64__
ACTION(call_like_32_bits) {
    (void)aim;
    long number = 20; // getpid in the 32-bit numbering.
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
    return number < 0 ? (errno = (int)-number, -1) : number;
}
ACTION(call_like_x32) { (void)aim; return syscall(0x40000000 | SYS_getpid); }
ACTION(touch_ports) { (void)aim; return syscall(SYS_iopl, 3); }
#endif

#define POSSIBLE(name) {#name, name, true}
#define DOUBTFUL(name) {#name, name, false}
static const struct { const char *name; action *run; bool is_possible; } actions[] = {
    POSSIBLE(read_passwords), POSSIBLE(read_victim), POSSIBLE(read_own_maps), POSSIBLE(read_environment_of_parent),
    POSSIBLE(read_words_of_parent), POSSIBLE(open_memory_of_parent), POSSIBLE(list_folder), POSSIBLE(find_path),
    POSSIBLE(write_to_victim), POSSIBLE(create_file), POSSIBLE(create_unnamed_file), POSSIBLE(open_by_second_call),
    POSSIBLE(make_folder), POSSIBLE(make_device), POSSIBLE(make_symbolic_link), POSSIBLE(make_link), POSSIBLE(move_file),
    POSSIBLE(remove_file), POSSIBLE(change_mode), POSSIBLE(change_mode_of_open_file), POSSIBLE(change_owner_of_open_file),
    POSSIBLE(cut_file), DOUBTFUL(set_attribute), POSSIBLE(look_at_file), POSSIBLE(look_at_file_anew),
    POSSIBLE(ask_for_access), POSSIBLE(read_link), POSSIBLE(go_to_folder), POSSIBLE(change_root), POSSIBLE(watch_folder),
    DOUBTFUL(get_handle), POSSIBLE(write_beyond_budget), POSSIBLE(cut_beyond_budget), POSSIBLE(reserve_disk),
    POSSIBLE(control_device), POSSIBLE(own_signals_of_file), POSSIBLE(lock_file),
    POSSIBLE(start_process), POSSIBLE(start_process_anew), DOUBTFUL(start_namespace), POSSIBLE(start_thread),
    POSSIBLE(execute_program), POSSIBLE(execute_memory), POSSIBLE(trace_parent), POSSIBLE(be_traced),
    POSSIBLE(read_memory_of_parent), POSSIBLE(write_memory_of_parent), POSSIBLE(signal_parent),
    POSSIBLE(signal_thread_of_parent), POSSIBLE(signal_by_number_of_thread), POSSIBLE(queue_signal),
    POSSIBLE(signal_itself), POSSIBLE(get_hold_of_parent), DOUBTFUL(compare_with_parent), POSSIBLE(take_priority),
    DOUBTFUL(take_processor), POSSIBLE(bind_to_processor), DOUBTFUL(leave_session), DOUBTFUL(leave_group),
    POSSIBLE(connect_over_tcp), POSSIBLE(connect_over_udp), POSSIBLE(connect_over_unix), POSSIBLE(listen_over_tcp),
    POSSIBLE(talk_to_kernel), DOUBTFUL(open_raw_socket), DOUBTFUL(open_packet_socket), POSSIBLE(pair_sockets),
    POSSIBLE(make_pipe),
    POSSIBLE(map_executable), POSSIBLE(make_executable), DOUBTFUL(make_executable_by_key), POSSIBLE(make_code_writable),
    POSSIBLE(take_memory_beyond_budget), POSSIBLE(make_memory_file), DOUBTFUL(make_secret_memory), DOUBTFUL(share_memory),
    DOUBTFUL(handle_faults), DOUBTFUL(lock_memory),
    POSSIBLE(raise_limit_of_memory), POSSIBLE(raise_limit_of_file), DOUBTFUL(raise_limit_of_processes),
    POSSIBLE(raise_limit_of_core), POSSIBLE(change_limit_of_parent), POSSIBLE(become_root), POSSIBLE(become_somebody),
    POSSIBLE(become_root_group), POSSIBLE(join_groups), POSSIBLE(take_capabilities), POSSIBLE(become_dumpable),
    POSSIBLE(outlive_starter), POSSIBLE(filter_anew), POSSIBLE(replace_handler),
    POSSIBLE(leave_namespaces), DOUBTFUL(mount_something), DOUBTFUL(open_ring), DOUBTFUL(load_program),
    DOUBTFUL(count_events), DOUBTFUL(ask_for_keys), DOUBTFUL(add_key), DOUBTFUL(load_module), DOUBTFUL(read_kernel_log),
    POSSIBLE(change_personality), POSSIBLE(wait_for_events), DOUBTFUL(set_clock), DOUBTFUL(copy_between_files),
    POSSIBLE(take_signals_by_file), POSSIBLE(read_clock_of_parent), POSSIBLE(look_at_clock_of_parent),
    POSSIBLE(move_waiting_threads), POSSIBLE(wake_and_write), POSSIBLE(hide_memory_from_children),
    DOUBTFUL(merge_equal_pages),
#ifdef __x86_64__
    DOUBTFUL(call_like_32_bits), DOUBTFUL(call_like_x32), DOUBTFUL(touch_ports),
#endif
};

size_t hostile_count(void) { return sizeof actions / sizeof *actions; }
const char *hostile_name(size_t place) { return actions[place].name; }
bool hostile_is_possible(size_t place) { return actions[place].is_possible; }

int hostile_try(size_t place, const struct hostile_aim *aim) {
    errno = 0;
    return actions[place].run(aim) < 0 ? errno : 0;
}
