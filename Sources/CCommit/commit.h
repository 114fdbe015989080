// The commit that the build was given. Contains no logic.
#ifndef SLUICE_CCOMMIT_COMMIT_H
#define SLUICE_CCOMMIT_COMMIT_H

// The text of SLUICE_COMMIT (see scripts/commit), or an empty one.
const char *sluice_commit(void);

#endif
