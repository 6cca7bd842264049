/* SPDX-License-Identifier: Apache-2.0
 * Who this process is in the job, as its launcher tells by the environment. */
#ifndef WEFT_PROBES_IDENTITY_H
#define WEFT_PROBES_IDENTITY_H

#include <stdint.h>

struct weft_identity {
  int32_t rank;  /* -1: unknown */
  int32_t world; /* -1: unknown */
  char role[32]; /* "worker", "server", "scheduler", "ps", "chief"; empty: not told */
};

struct weft_identity weft_identify(void);

#endif
