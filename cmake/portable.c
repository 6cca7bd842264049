// SPDX-License-Identifier: Apache-2.0
// Definitions for wheels that are built with glibc 2.36 and run with 2.34 (see WEFT_PORTABLE). A
// linker prefers them to glibc's own, which exist or changed only after 2.34.
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

// Used by std::random_device of the static C++ runtime. glibc has it since 2.36.
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
  }
  return value;
}

// glibc 2.35 has a new version of hypot that no longer sets errno the old way. The old one is fine.
double hypot_before_2_35(double x, double y);
__asm__(".symver hypot_before_2_35, hypot@GLIBC_2.2.5");
__attribute__((visibility("hidden"))) double hypot(double x, double y) {
  return hypot_before_2_35(x, y);
}
