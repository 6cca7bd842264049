/* SPDX-License-Identifier: Apache-2.0
 * Finds out which rank this process is. Launchers tell it through environment variables. */
#ifndef WEFT_PROBES_IDENTITY_H
#define WEFT_PROBES_IDENTITY_H

#include <stdint.h>

struct weft_identity {
  int32_t rank;  /* -1 if unknown, or if the process is not a rank */
  int32_t world; /* -1 if unknown */
  char role[32]; /* "worker", "server", "scheduler", "ps", "chief"; empty if unknown */
};

/* Reads the environment variables of torchrun, Open MPI, MPICH, Slurm, Horovod, ps-lite (DMLC_...)
 * and TensorFlow (TF_CONFIG). */
struct weft_identity weft_identify(void);

#endif
