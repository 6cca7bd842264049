// SPDX-License-Identifier: Apache-2.0
// The inner loops of the JSON scanner. They handle 16 bytes at a time if SSE2 is available. Each
// loop stops at a zero byte, even if it has not found what it searches for. So the caller must put
// a zero byte behind the data, and the 16 bytes behind the data must be readable.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::json_bytes {

#if defined(__SSE2__)

inline __m128i load(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline __m128i equals(__m128i v, char c) { return _mm_cmpeq_epi8(v, _mm_set1_epi8(c)); }
inline unsigned mask(__m128i v) { return static_cast<unsigned>(_mm_movemask_epi8(v)); }

/// Returns the first quote, backslash or control character at or after `p`. Sets `non_ascii` if
/// there is a byte of 0x80 or more before it.
inline const char* string_stop(const char* p, bool& non_ascii) {
  for (;; p += 16) {
    const __m128i v = load(p);
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    const unsigned stop =
        mask(_mm_or_si128(control, _mm_or_si128(equals(v, '"'), equals(v, '\\'))));
    const unsigned high = mask(v);
    if (stop != 0) {
      const int n = __builtin_ctz(stop);
      non_ascii |= (high & ((1u << n) - 1)) != 0;
      return p + n;
    }
    non_ascii |= high != 0;
  }
}

/// Returns the first byte at or after `p` that is not a space, tab or line end.
inline const char* space_stop(const char* p) {
  for (;; p += 16) {
    const __m128i v = load(p);
    const __m128i lines = _mm_or_si128(equals(v, '\n'), equals(v, '\r'));
    const __m128i blanks = _mm_or_si128(equals(v, ' '), equals(v, '\t'));
    const unsigned stop = ~mask(_mm_or_si128(lines, blanks)) & 0xffffu;
    if (stop != 0) return p + __builtin_ctz(stop);
  }
}

/// Returns the first quote, bracket or zero byte at or after `p`.
inline const char* structure_stop(const char* p) {
  for (;; p += 16) {
    const __m128i v = load(p);
    // '[' and '{' differ in one bit only, and so do ']' and '}'.
    const __m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
    const __m128i brackets = _mm_or_si128(equals(folded, '{'), equals(folded, '}'));
    const unsigned stop =
        mask(_mm_or_si128(brackets, _mm_or_si128(equals(v, '"'), equals(v, '\0'))));
    if (stop != 0) return p + __builtin_ctz(stop);
  }
}

#else

inline const char* string_stop(const char* p, bool& non_ascii) {
  for (;; ++p) {
    const unsigned char c = static_cast<unsigned char>(*p);
    if (c == '"' || c == '\\' || c < 0x20) return p;
    non_ascii |= c >= 0x80;
  }
}

inline const char* space_stop(const char* p) {
  while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') ++p;
  return p;
}

inline const char* structure_stop(const char* p) {
  for (;; ++p) {
    const char c = *p;
    if (c == '"' || c == '{' || c == '}' || c == '[' || c == ']' || c == '\0') return p;
  }
}

#endif

}  // namespace weft::json_bytes
