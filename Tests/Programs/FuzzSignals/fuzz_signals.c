// libav's libraries call each other and the C library through the dynamic linker, which looks up symbols in the
// program first. So the program interposes a few functions, records the caller's address, and passes the call on.
// To libFuzzer a new call site is like a new branch: it keeps an input that reaches one and mutates it further.
#define _GNU_SOURCE
#include "FuzzSignals.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

// A power of two. libFuzzer scans all counters after each input.
#define COUNTERS (1u << 15)

__attribute__((section("__libfuzzer_extra_counters"), used)) static uint8_t counters[COUNTERS];
static uint64_t noted_calls;

int LLVMFuzzerRunDriver(int *count, char ***words, fuzz_input *input);

int fuzz_drive(int count, char **words, fuzz_input *input) { return LLVMFuzzerRunDriver(&count, &words, input); }
int fuzz_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }
uint64_t fuzz_noted_calls(void) { return noted_calls; }

// Where libav's libraries are mapped. Addresses differ from run to run; offsets within a library do not.
static struct library { uintptr_t from, to, name; } libraries[8];
static size_t library_count;

static int note_library(struct dl_phdr_info *info, size_t size, void *nothing) {
    (void)size, (void)nothing;
    const char *name = strrchr(info->dlpi_name, '/');
    name = name ? name + 1 : info->dlpi_name;
    if (strncmp(name, "libavformat", 11) && strncmp(name, "libavcodec", 10)) return 0;
    uintptr_t end = 0;
    for (int place = 0; place < info->dlpi_phnum; place++) {
        uintptr_t here = info->dlpi_phdr[place].p_vaddr + info->dlpi_phdr[place].p_memsz;
        if (info->dlpi_phdr[place].p_type == PT_LOAD && here > end) end = here;
    }
    if (library_count < sizeof libraries / sizeof *libraries)
        libraries[library_count++] = (struct library){info->dlpi_addr, info->dlpi_addr + end, (uintptr_t)name[5]};
    return 0;
}

__attribute__((constructor)) static void find_libraries(void) { dl_iterate_phdr(note_library, NULL); }

// Counts the call if `caller` is in libav, and returns whether it is.
static bool note(const void *caller, uint64_t what) {
    uintptr_t place = (uintptr_t)caller;
    for (size_t number = 0; number < library_count; number++) {
        struct library *library = &libraries[number];
        if (place < library->from || place >= library->to) continue;
        uint64_t mixed = ((place - library->from) << 16 ^ library->name << 8 ^ what) * 0x9E3779B97F4A7C15u;
        uint8_t *counter = &counters[mixed >> 40 & (COUNTERS - 1)];
        if (*counter < 255) ++*counter;
        noted_calls++;
        return true;
    }
    return false;
}

// The size class: the number of significant bits.
static uint64_t size_class(size_t size) { return size ? 64u - (uint64_t)__builtin_clzll(size) : 0; }

#define CALLER __builtin_return_address(0)
#define PASS_ON(type, name)                                    \
    static type *next;                                         \
    if (!next) next = (type *)dlsym(RTLD_NEXT, name);          \
    if (!next) abort()

// A parser logs what it objects to.
typedef void log_function(void *, int, const char *, va_list);
void av_log(void *context, int level, const char *format, ...) {
    note(CALLER, 1);
    PASS_ON(log_function, "av_vlog");
    va_list arguments;
    va_start(arguments, format);
    next(context, level, format, arguments);
    va_end(arguments);
}

// A parser allocates memory for what it accepts.
typedef void *allocation(size_t);
void *av_malloc(size_t size) {
    note(CALLER, 2 + size_class(size));
    PASS_ON(allocation, "av_malloc");
    return next(size);
}
void *av_mallocz(size_t size) {
    note(CALLER, 2 + size_class(size));
    PASS_ON(allocation, "av_mallocz");
    return next(size);
}
typedef void *reallocation(void *, size_t);
void *av_realloc(void *pointer, size_t size) {
    note(CALLER, 2 + size_class(size));
    PASS_ON(reallocation, "av_realloc");
    return next(pointer, size);
}
typedef void *arrangement(size_t, size_t);
void *av_calloc(size_t count, size_t size) {
    note(CALLER, 2 + size_class(count));
    PASS_ON(arrangement, "av_calloc");
    return next(count, size);
}
typedef void release(void *);
void av_free(void *pointer) {
    note(CALLER, 3);
    PASS_ON(release, "av_free");
    next(pointer);
}
void av_freep(void *pointer) {
    note(CALLER, 4);
    PASS_ON(release, "av_freep");
    next(pointer);
}

// A parser stores the metadata that it understands.
typedef int entry(void *, const char *, const char *, int);
int av_dict_set(void *dictionary, const char *key, const char *value, int flags) {
    note(CALLER, 5);
    PASS_ON(entry, "av_dict_set");
    return next(dictionary, key, value, flags);
}

// Demuxers create packets, and decoders create frames.
typedef int packet(void *, int);
int av_new_packet(void *fresh, int size) {
    note(CALLER, 2 + size_class(size > 0 ? (size_t)size : 0));
    PASS_ON(packet, "av_new_packet");
    return next(fresh, size);
}
int av_frame_get_buffer(void *frame, int alignment) {
    note(CALLER, 6);
    PASS_ON(packet, "av_frame_get_buffer");
    return next(frame, alignment);
}

// Comparisons record how many bytes matched, and libFuzzer learns the bytes that would have matched the rest. The C
// library's own functions are reached in other ways or not at all, so these functions compare by themselves.
void __sanitizer_weak_hook_memcmp(void *caller, const void *one, const void *other, size_t count, int result);
void __sanitizer_weak_hook_strcmp(void *caller, const char *one, const char *other, int result);
int memcmp(const void *one, const void *other, size_t count) {
    const uint8_t *left = one, *right = other;
    size_t place = 0;
    while (place < count && left[place] == right[place]) place++;
    int result = place == count ? 0 : left[place] - right[place];
    if (note(CALLER, 128 + (place < 64 ? place : 64))) __sanitizer_weak_hook_memcmp(CALLER, one, other, count, result);
    return result;
}
typedef int word_comparison(const char *, const char *);
int strcmp(const char *one, const char *other) {
    size_t place = 0;
    while (one[place] && one[place] == other[place]) place++;
    int result = (uint8_t)one[place] - (uint8_t)other[place];
    if (note(CALLER, 128 + (place < 64 ? place : 64))) __sanitizer_weak_hook_strcmp(CALLER, one, other, result);
    return result;
}
