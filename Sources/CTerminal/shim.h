// What terminal output needs but the module map of glibc lacks. Contains no logic.
#ifndef SLUICE_CTERMINAL_SHIM_H
#define SLUICE_CTERMINAL_SHIM_H

// wcwidth is an extension of X/Open.
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#include <wchar.h>

#endif
