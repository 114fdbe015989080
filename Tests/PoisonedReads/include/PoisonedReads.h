// Makes a pump room do at a word in a file what a fault in a decoder could have it do. The word is 16 bytes: a zero byte,
// "sluice-poison-" and one letter.
#ifndef POISONED_READS_H
#define POISONED_READS_H

#include <stddef.h>

/// What a room does that reads the word with this letter, by its place among them; NULL beyond the last.
const char *poison_name(size_t place);

/// The letter of the word that does it.
char poison_letter(size_t place);

#endif
