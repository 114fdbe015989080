// Counts heap allocations by Swift code: those whose caller is in the program itself or in Swift's runtime.
// Allocations by libav do not count.
#ifndef SLUICE_ALLOCATION_COUNTER_H
#define SLUICE_ALLOCATION_COUNTER_H

void allocation_counter_start(void);
unsigned long allocation_counter_stop(void);

#endif
