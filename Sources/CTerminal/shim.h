// What the module map of glibc leaves out and a terminal needs. No logic lives here.
#ifndef SLUICE_CTERMINAL_SHIM_H
#define SLUICE_CTERMINAL_SHIM_H

// wcwidth is an extension of X/Open.
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#include <wchar.h>

#endif
