#include "commit.h"

#define QUOTED(text) #text
#define EXPANDED(text) QUOTED(text)

const char *sluice_commit(void) {
#ifdef SLUICE_COMMIT
    return EXPANDED(SLUICE_COMMIT);
#else
    return "";
#endif
}
