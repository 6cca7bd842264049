/* SPDX-License-Identifier: Apache-2.0
 * For functions that stand before those of libc. */
#ifndef WEFT_PROBES_NEXT_H
#define WEFT_PROBES_NEXT_H

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#define WEFT_EXPORT __attribute__((visibility("default")))

/* Not from a constructor: those of other libraries may call us before ours has run. */
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

/* Declares `next`, the definition of a function behind ours. */
#define WEFT_NEXT(name)              \
  static void* _Atomic found_##name; \
  __typeof__(&name) next = (__typeof__(&name))weft_find_next(&found_##name, #name)

#endif
