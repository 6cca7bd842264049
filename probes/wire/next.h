/* SPDX-License-Identifier: Apache-2.0
 * Helps functions that replace functions of libc to call the replaced ones. */
#ifndef WEFT_PROBES_NEXT_H
#define WEFT_PROBES_NEXT_H

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#define WEFT_EXPORT __attribute__((visibility("default")))

/* Finds the next definition of a function at its first use. This cannot be done in our constructor:
 * constructors of other libraries may call our functions before it has run. */
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
