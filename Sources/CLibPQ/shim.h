// libpq, as Swift sees it. No logic lives here.
#ifndef SLUICE_CLIBPQ_SHIM_H
#define SLUICE_CLIBPQ_SHIM_H

#include <libpq-fe.h>

#endif
