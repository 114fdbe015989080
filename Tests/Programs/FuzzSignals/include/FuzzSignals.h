// Reports what libav does to a fuzzer that cannot see into it: Debian's libraries are not instrumented.
#ifndef FUZZ_SIGNALS_H
#define FUZZ_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

/// The function that the fuzzer calls for each input. The bytes are valid during the call. Returns 0.
typedef int fuzz_input(const uint8_t *bytes, size_t count);

/// Runs libFuzzer with its command-line arguments. Returns its exit status unless libFuzzer ends the process itself.
int fuzz_drive(int count, char **words, fuzz_input *input);

/// Creates an anonymous file in memory. Returns its descriptor, or -1 on failure.
int fuzz_memory_file(const char *name);

/// The number of calls from libav's libraries so far. Zero means that the interposition does not work.
uint64_t fuzz_noted_calls(void);

#endif
