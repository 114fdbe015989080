// Interposes three functions of the C library: pread, which reads all bytes of a source; pwrite, which writes those
// of an output; and sendmsg, with which a room sends its messages. In a process that only states its libraries, they pass
// the call on.
#define _GNU_SOURCE
#include "PoisonedReads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_room;

__attribute__((constructor)) static void look_at_words(int count, char **words) {
    is_room = count == 1 && strcmp(words[0], "sluice-room") == 0;
}

static void read_nowhere(void) { *(volatile char *)NULL; }
static void stop_itself(void) { abort(); }
static void call_out(void) { syscall(SYS_socket, 2, 1, 0); }
static void wait_for_nothing(void) {
    for (;;) poll(NULL, 0, -1);
}
static void go_round(void) {
    for (volatile unsigned long rounds = 0;; rounds++) {}
}
// Allocates until nothing is left, down to the smallest piece. The code after it has to cope.
static void take_all_addresses(void) {
    for (size_t size = (size_t)16 << 20; size >= 16; size /= 2)
        while (malloc(size)) {}
}
// Really uses the memory: in a cgroup with a lower limit than a room's, the kernel kills a process of its choice.
static void use_all_memory(void) {
    size_t size = (size_t)4 << 20;
    void *memory;
    while ((memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
        memset(memory, 1, size);
    abort();
}

// What a room does to an output that it has released: after its message that the conversion ended (`afterwards`),
// or just before (`beforehand`). It takes what it needs for that at its next write (`to_take`).
static int kept = -1;
static char *mapped;
static void (*to_take)(int output), (*afterwards)(void), (*beforehand)(void);

static void keep_duplicate(int output) {
    kept = fcntl(output, F_DUPFD_CLOEXEC, 100);
    if (kept < 0) abort();
}
static void keep_mapping(int output) {
    mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, output, 0);
    if (mapped == MAP_FAILED) abort();
}
static void rewrite(void) {
    if (syscall(SYS_pwrite64, kept, "altered", 7, 0) != 7) abort();
}
static void remap(void) { memcpy(mapped, "altered", 7); }
static void set_length(off_t length) {
    if (ftruncate(kept, length) != 0) abort();
}
static void empty(void) { set_length(0); }
static void grow(void) { set_length((off_t)1 << 40); }
static void lengthen(off_t count) {
    off_t length = lseek(kept, 0, SEEK_END);
    if (length < 0) abort();
    set_length(length + count);
    close(kept);
}
static void add_pages(void) { lengthen(1 << 16); }
static void add_gigabytes(void) { lengthen((off_t)4 << 30); }

static void take_to_rewrite(void) { to_take = keep_duplicate, afterwards = rewrite; }
static void take_to_remap(void) { to_take = keep_mapping, afterwards = remap; }
static void take_to_empty(void) { to_take = keep_duplicate, afterwards = empty; }
static void take_to_grow(void) { to_take = keep_duplicate, afterwards = grow; }
static void take_for_pages(void) { to_take = keep_duplicate, beforehand = add_pages; }
static void take_for_gigabytes(void) { to_take = keep_duplicate, beforehand = add_gigabytes; }

static const struct { char letter; const char *name; void (*run)(void); } poisons[] = {
    {'v', "SIGSEGV", read_nowhere},   {'a', "SIGABRT", stop_itself}, {'y', "SIGSYS", call_out},
    {'h', "hang", wait_for_nothing},  {'r', "spin", go_round},       {'m', "addresses", take_all_addresses},
    {'o', "memory", use_all_memory},  {'w', "rewrite", take_to_rewrite},
    {'p', "remap", take_to_remap},    {'e', "empty", take_to_empty}, {'g', "grow", take_to_grow},
    {'l', "page", take_for_pages},    {'s', "sparse", take_for_gigabytes},
};
enum { COUNT = sizeof poisons / sizeof *poisons };

const char *poison_name(size_t place) { return place < COUNT ? poisons[place].name : NULL; }
char poison_letter(size_t place) { return place < COUNT ? poisons[place].letter : 0; }

static void look_at(const uint8_t *bytes, ssize_t count) {
    // Assembled here, so that the program's own file does not contain the word.
    static const char head[] = {0, 's', 'l', 'u', 'i', 'c', 'e', '-', 'p', 'o', 'i', 's', 'o', 'n', '-'};
    if (count < (ssize_t)sizeof head + 1) return;
    const uint8_t *found = memmem(bytes, (size_t)count - 1, head, sizeof head);
    if (!found) return;
    for (size_t place = 0; place < COUNT; place++) {
        if (poisons[place].letter != found[sizeof head]) continue;
        char words[96];
        // Two lines; the first would clear a terminal.
        int size = snprintf(words, sizeof words, "\033[2Jpoison\npoison: %s in room %d\n", poisons[place].name, (int)getpid());
        if (write(2, words, (size_t)size) < 0) return;
        poisons[place].run();
    }
}

ssize_t pread(int file, void *bytes, size_t count, off_t place) {
    ssize_t got = syscall(SYS_pread64, file, bytes, count, place);
    if (is_room && got > 0) look_at(bytes, got);
    return got;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) {
    ssize_t written = syscall(SYS_pwrite64, file, bytes, count, place);
    if (is_room && to_take) {
        to_take(file);
        to_take = NULL;
    }
    return written;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    bool ends = is_room && message->msg_iovlen == 1
        && memmem(message->msg_iov->iov_base, message->msg_iov->iov_len, "\"converted\"", 11);
    if (ends && beforehand) {
        beforehand();
        beforehand = NULL;
    }
    ssize_t sent = syscall(SYS_sendmsg, socket, message, flags);
    if (ends && afterwards) {
        // A worker that trusts the room publishes the output in this time; a correct worker does not. A locked room
        // can observe neither the name of its output nor the ledger.
        poll(NULL, 0, 500);
        afterwards();
        afterwards = NULL;
    }
    return sent;
}
