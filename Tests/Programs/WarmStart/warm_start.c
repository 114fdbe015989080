// Preloaded into a program that links hundreds of libraries, whose start takes longer than its work. The program is
// loaded once; in the place of its main function it then serves: for each request it forks, and the child calls main.
//
// Requests come as messages to the standard input. The data are texts, each ended by a zero: a folder (empty: the present
// one), the number of arguments, the arguments with the program's name first, and the variables of the environment
// (none: those of the server). With them come four descriptors: the standard streams, and a socket to which the server
// writes the child's process number at once and its wait status in the end. A server whose socket is closed by all its
// clients ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*main_function)(int, char **, char **);

enum { requests = 0, most_bytes = 1 << 18, most_words = 4096, most_children = 256 };

struct child { pid_t id; int reply; };

static main_function program;
static char message[most_bytes];
static char *arguments[most_words + 1];
static char *variables[most_words + 1];
static struct child children[most_children];

static void fail(const char *what) {
    perror(what);
    _exit(125);
}

static void tell(int reply, int number) {
    // A client that is gone needs no answer.
    (void)!send(reply, &number, sizeof number, MSG_NOSIGNAL);
}

// Swift reads a program's arguments from /proc, which has those of the server. This call replaces them.
static void tell_swift(char **words, int count) {
    typedef void (*override_function)(char **, int);
    override_function override = (override_function)dlsym(RTLD_DEFAULT, "_swift_stdlib_overrideUnsafeArgvArgc");
    if (override) override(words, count);
}

static void run(size_t size, int streams[3], char **environment) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < 3; i++) {
        if (dup2(streams[i], i) < 0) fail("dup2");
    }
    close_range(3, ~0U, 0);
    if (message[0] && chdir(message) < 0) fail(message);
    size_t at = strlen(message) + 1;
    int count = atoi(message + at), taken = 0;
    if (count > most_words) fail("too many arguments");
    at += strlen(message + at) + 1;
    for (; at < size && taken < count; at += strlen(message + at) + 1) arguments[taken++] = message + at;
    int set = 0;
    for (; at < size && set < most_words; at += strlen(message + at) + 1) variables[set++] = message + at;
    if (set) environ = environment = variables;
    tell_swift(arguments, taken);
    exit(program(taken, arguments, environment));
}

static void take_request(char **environment) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec data = {message, sizeof message - 1};
    struct msghdr request = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(requests, &request, MSG_CMSG_CLOEXEC);
    if (size == 0) _exit(0);
    if (size < 0) {
        if (errno == EINTR) return;
        fail("recvmsg");
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&request);
    if (!header || header->cmsg_len != CMSG_LEN(4 * sizeof(int))) fail("a request without descriptors");
    int descriptors[4];
    memcpy(descriptors, CMSG_DATA(header), sizeof descriptors);
    message[size] = 0;
    int place = 0;
    while (place < most_children && children[place].id) place++;
    pid_t id = place < most_children ? fork() : -1;
    // Both processes say so, because neither knows which of them comes first.
    if (id >= 0) setpgid(id, id);
    if (id == 0) run((size_t)size, descriptors, environment);
    for (int i = 0; i < 3; i++) close(descriptors[i]);
    if (id < 0) {
        close(descriptors[3]);
        return;
    }
    children[place] = (struct child){id, descriptors[3]};
    tell(descriptors[3], id);
}

static void reap(int signals) {
    struct signalfd_siginfo unread;
    (void)!read(signals, &unread, sizeof unread);
    int status;
    for (pid_t id; (id = waitpid(-1, &status, WNOHANG)) > 0;) {
        for (int place = 0; place < most_children; place++) {
            if (children[place].id != id) continue;
            tell(children[place].reply, status);
            close(children[place].reply);
            children[place].id = 0;
        }
    }
}

static int serve(int unused_count, char **unused_arguments, char **environment) {
    (void)unused_count;
    (void)unused_arguments;
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    int signals = signalfd(-1, &awaited, SFD_CLOEXEC);
    if (signals < 0) fail("signalfd");
    struct pollfd waited[] = {{requests, POLLIN, 0}, {signals, POLLIN, 0}};
    for (;;) {
        if (poll(waited, 2, -1) < 0 && errno != EINTR) fail("poll");
        if (waited[1].revents) reap(signals);
        if (waited[0].revents) take_request(environment);
    }
}

// glibc's start code calls this with the program's main function, when all libraries are loaded and initialised.
int __libc_start_main(
    main_function main, int count, char **arguments, void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
    void *stack_end) {
    typedef int (*start_function)(
        main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    start_function start = (start_function)dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    // The program's own children load no server.
    unsetenv("LD_PRELOAD");
    return start(serve, count, arguments, init, fini, loader_fini, stack_end);
}
