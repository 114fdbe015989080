// libpq, as Swift sees it. No logic lives here.
#ifndef SLUICE_CLIBPQ_SHIM_H
#define SLUICE_CLIBPQ_SHIM_H

#include <libpq-fe.h>
// Swift's Glibc leaves eventfd out, with which a wait for libpq is ended.
#include <sys/eventfd.h>

#endif
