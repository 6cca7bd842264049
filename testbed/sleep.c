/* SPDX-License-Identifier: Apache-2.0
 * Corrects sleeps on hosts with a wrong clock. This library is preloaded before libfaketime. Weft
 * lets libfaketime change only the real-time clock, not the monotonic clock. But up to version
 * 0.9.10, libfaketime treats the deadline of a monotonic sleep as a real-time deadline, so every
 * sleep of Python fails with EINVAL. Therefore this library calls libc directly, except for sleeps
 * until a time of the real-time clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

typedef int (*Sleep)(clockid_t, int, const struct timespec*, struct timespec*);

/* Looks up the function once; racing threads find the same address. */
static Sleep find_in(void* _Atomic* cache, void* library) {
  void* found = atomic_load_explicit(cache, memory_order_relaxed);
  if (found == NULL) {
    found = dlsym(library, "clock_nanosleep");
    atomic_store(cache, found);
  }
  return (Sleep)found;
}

__attribute__((visibility("default"))) int clock_nanosleep(clockid_t clock, int flags,
                                                           const struct timespec* request,
                                                           struct timespec* remaining) {
  static void* _Atomic next;
  static void* _Atomic of_libc;
  const int is_turned = clock == CLOCK_REALTIME && (flags & TIMER_ABSTIME) != 0;
  void* libc = is_turned ? NULL : dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  Sleep sleep = libc != NULL ? find_in(&of_libc, libc) : find_in(&next, RTLD_NEXT);
  if (libc != NULL) dlclose(libc); /* libc stays loaded; this only undoes the count of dlopen */
  return sleep(clock, flags, request, remaining);
}
