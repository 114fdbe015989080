// Makes a pump room misbehave at a word in a file as a faulty decoder might. The word is 16 bytes: a zero byte,
// "sluice-poison-" and one letter.
#ifndef POISONED_READS_H
#define POISONED_READS_H

#include <stddef.h>

/// The name of the misbehaviour at index `place`; NULL past the last.
const char *poison_name(size_t place);

/// The letter of the word that triggers it; 0 past the last.
char poison_letter(size_t place);

#endif
