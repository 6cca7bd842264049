/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "probes/log/identity.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Goes through the variables in order and returns the first value that is a number of at least 0;
 * -1 if no variable has such a value. */
static int32_t number_in(const char* const* names) {
  for (; *names != NULL; ++names) {
    const char* text = getenv(*names);
    if (text == NULL || *text == '\0') continue;
    char* end = NULL;
    const long value = strtol(text, &end, 10);
    if (*end == '\0' && value >= 0 && value <= INT32_MAX) return (int32_t)value;
  }
  return -1;
}

static void set_role(struct weft_identity* who, const char* role, size_t length) {
  if (length >= sizeof who->role) length = sizeof who->role - 1;
  memcpy(who->role, role, length);
  who->role[length] = '\0';
}

/* TF_CONFIG is JSON: {"cluster": {...}, "task": {"type": "worker", "index": 0}}. If the cluster has
 * a chief, the chief is rank 0 and the workers are ranks 1, 2 ... The code searches for words in
 * the text, because a probe should not contain a JSON parser. If TF_CONFIG has an unexpected form,
 * the rank stays unknown. */
static void identify_tensorflow(struct weft_identity* who) {
  const char* config = getenv("TF_CONFIG");
  const char* task = config == NULL ? NULL : strstr(config, "\"task\"");
  if (task == NULL) return;
  const char* type = strstr(task, "\"type\"");
  const char* index = strstr(task, "\"index\"");
  if (type == NULL || index == NULL) return;
  type = strchr(type + 6, '"');
  const char* type_end = type == NULL ? NULL : strchr(type + 1, '"');
  if (type_end == NULL) return;
  set_role(who, type + 1, (size_t)(type_end - type - 1));
  index = strpbrk(index + 7, "0123456789");
  if (index == NULL || who->rank >= 0) return;
  const bool has_chief = strstr(config, "\"chief\"") != NULL;
  const long number = strtol(index, NULL, 10);
  if (number < 0 || number >= INT32_MAX) return;
  if (strcmp(who->role, "chief") == 0) who->rank = 0;
  if (strcmp(who->role, "worker") == 0) who->rank = (int32_t)number + (has_chief ? 1 : 0);
}

struct weft_identity weft_identify(void) {
  static const char* const ranks[] = {"RANK",         "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                      "SLURM_PROCID", "HOROVOD_RANK",         NULL};
  static const char* const worlds[] = {"WORLD_SIZE",   "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                       "SLURM_NTASKS", "HOROVOD_SIZE",         NULL};
  static const char* const workers[] = {"DMLC_WORKER_ID", NULL};
  static const char* const worker_counts[] = {"DMLC_NUM_WORKER", NULL};
  struct weft_identity who = {.rank = number_in(ranks), .world = number_in(worlds), .role = ""};
  const char* role = getenv("DMLC_ROLE");
  if (role != NULL) {
    set_role(&who, role, strlen(role));
    if (who.world < 0) who.world = number_in(worker_counts);
    if (who.rank < 0 && strcmp(role, "worker") == 0) who.rank = number_in(workers);
    /* Launchers number servers and schedulers too, but these are not ranks of the job. */
    if (strcmp(role, "worker") != 0) who.rank = -1;
  }
  identify_tensorflow(&who);
  return who;
}
