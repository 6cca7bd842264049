// SPDX-License-Identifier: Apache-2.0
// Defines functions for wheels that are built with glibc 2.36 and must run with glibc 2.34 (see
// WEFT_PORTABLE). glibc added or changed these functions after 2.34. The linker prefers the
// definitions in this file to those of glibc.
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

// std::random_device of the static C++ runtime calls this function, which glibc has only
// since 2.36.
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
  }
  return value;
}

// glibc 2.35 has a new version of hypot, which differs only in how it sets errno. Use the old
// version, which glibc 2.34 has, too.
double hypot_before_2_35(double x, double y);
__asm__(".symver hypot_before_2_35, hypot@GLIBC_2.2.5");
__attribute__((visibility("hidden"))) double hypot(double x, double y) {
  return hypot_before_2_35(x, y);
}
