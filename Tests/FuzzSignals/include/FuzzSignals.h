// What libav does, told to a fuzzer that cannot see into it: Debian's libraries carry no instrumentation.
#ifndef FUZZ_SIGNALS_H
#define FUZZ_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

/// What the fuzzer calls for each input, which is lent to it. Returns 0.
typedef int fuzz_input(const uint8_t *bytes, size_t count);

/// Runs libFuzzer with the words of its command line; returns its exit status, if it does not end the process itself.
int fuzz_drive(int count, char **words, fuzz_input *input);

/// A file without a name, in memory; -1 where there is none to be had.
int fuzz_memory_file(const char *name);

/// How many calls out of libav's libraries were noted so far: none means that their calls do not come by here.
uint64_t fuzz_noted_calls(void);

#endif
