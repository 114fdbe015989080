// libcrypto's digests for Swift. Contains no logic.
#ifndef SLUICE_CCRYPTO_SHIM_H
#define SLUICE_CCRYPTO_SHIM_H

#include <openssl/evp.h>
#include <openssl/hmac.h>

#endif
