// libebur128 for Swift. Contains no logic.
#ifndef SLUICE_CLOUDNESS_SHIM_H
#define SLUICE_CLOUDNESS_SHIM_H

#include <ebur128.h>

#endif
