// Counts heap allocations that Swift code makes: those whose caller lies in the program itself or in Swift's runtime.
// libav's own do not count.
#ifndef SLUICE_ALLOCATION_COUNTER_H
#define SLUICE_ALLOCATION_COUNTER_H

void allocation_counter_start(void);
unsigned long allocation_counter_stop(void);

#endif
