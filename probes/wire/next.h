/* SPDX-License-Identifier: Apache-2.0
 * The probe replaces functions of libc. This file finds the replaced functions, so that the probe
 * can call them. */
#ifndef WEFT_PROBES_NEXT_H
#define WEFT_PROBES_NEXT_H

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#define WEFT_EXPORT __attribute__((visibility("default")))

/* Finds the replaced function at its first use. Our constructor would be too late for this:
 * constructors of other libraries may call our functions before our constructor runs. */
static inline void* weft_find_next(void* _Atomic* function, const char* name) {
  void* found = atomic_load_explicit(function, memory_order_relaxed);
  if (found == NULL) {
    const int error = errno;
    found = dlsym(RTLD_NEXT, name);
    atomic_store(function, found);
    errno = error;
  }
  return found;
}

/* Declares `next`, a pointer to the function `name` that our function `name` replaces. This is
 * usually the function of libc. */
#define WEFT_NEXT(name)              \
  static void* _Atomic found_##name; \
  __typeof__(&name) next = (__typeof__(&name))weft_find_next(&found_##name, #name)

#endif
