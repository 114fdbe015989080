// libpq for Swift. Contains no logic.
#ifndef SLUICE_CLIBPQ_SHIM_H
#define SLUICE_CLIBPQ_SHIM_H

#include <libpq-fe.h>
// Swift's Glibc module lacks eventfd, by which another thread ends a wait for libpq.
#include <sys/eventfd.h>

#endif
