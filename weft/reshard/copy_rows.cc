// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/copy_rows.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::reshard {
namespace {

/// Rows as long as this are copied as well by the C library as by anything.
constexpr std::int64_t kLongRow = 16 << 10;
/// What is this large does not stay in a cache, so that it need not be read before it is written.
constexpr std::int64_t kStreamed = 4 << 20;

/// The compiler knows the length.
template <std::int64_t kBytes>
void copy_known(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                std::int64_t, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    std::memcpy(to, from, kBytes);
  }
}

void copy_plain(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                std::int64_t bytes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

#if defined(__x86_64__)

constexpr std::int64_t kWord = 32;
constexpr std::int64_t kLine = 64;
/// Rows are asked for this many bytes before they are needed.
constexpr std::int64_t kAhead = 2048;

__attribute__((target("avx2"))) inline __m256i load(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
__attribute__((target("avx2"))) inline void store(std::byte* to, __m256i word) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), word);
}

/// At least a word; the last one may overlap the one before.
__attribute__((target("avx2"))) inline void copy_row(const std::byte* from, std::byte* to,
                                                     std::int64_t bytes) {
  std::int64_t i = 0;
  for (; i + 2 * kWord <= bytes; i += 2 * kWord) {
    const __m256i first = load(from + i), second = load(from + i + kWord);
    store(to + i, first);
    store(to + i + kWord, second);
  }
  if (i + kWord <= bytes) store(to + i, load(from + i)), i += kWord;
  if (i < bytes) store(to + bytes - kWord, load(from + bytes - kWord));
}

inline void ask_for(const std::byte* row, std::int64_t bytes) {
  for (std::int64_t i = 0; i < std::min<std::int64_t>(bytes, 4 * kLine); i += kLine) {
    _mm_prefetch(reinterpret_cast<const char*>(row + i), _MM_HINT_T0);
  }
}

__attribute__((target("avx2"))) void copy_words(const std::byte* from, std::int64_t from_step,
                                                std::byte* to, std::int64_t to_step,
                                                std::int64_t bytes, std::int64_t count) {
  const std::int64_t ahead = std::max<std::int64_t>(1, kAhead / bytes);
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    if (i + ahead < count) ask_for(from + ahead * from_step, bytes);
    copy_row(from, to, bytes);
  }
}

/// Whole lines from `from` to the line at `to`, past the caches.
__attribute__((target("avx2"))) inline void stream_lines(const std::byte* from, std::byte* to,
                                                         std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += kLine) {
    const __m256i first = load(from + i), second = load(from + i + kWord);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), first);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + kWord), second);
  }
}

std::int64_t to_next_line(const std::byte* at) {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(at) % kLine);
}

/// Rows that lie apart where they go: their whole lines are streamed.
__attribute__((target("avx2"))) void stream_rows(const std::byte* from, std::int64_t from_step,
                                                 std::byte* to, std::int64_t to_step,
                                                 std::int64_t bytes, std::int64_t count) {
  const std::int64_t ahead = std::max<std::int64_t>(1, kAhead / bytes);
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    if (i + ahead < count) ask_for(from + ahead * from_step, bytes);
    const std::int64_t head = to_next_line(to);
    const std::int64_t lines = head < bytes ? (bytes - head) / kLine * kLine : 0;
    if (lines == 0) {
      copy_row(from, to, bytes);
      continue;
    }
    // Ends of a row share lines with its neighbours.
    if (head > 0) std::memcpy(to, from, static_cast<std::size_t>(head));
    stream_lines(from + head, to + head, lines);
    const std::int64_t tail = bytes - head - lines;
    if (tail > 0) {
      std::memcpy(to + head + lines, from + head + lines, static_cast<std::size_t>(tail));
    }
  }
  _mm_sfence();
}

/// Rows that lie side by side where they go: they are gathered until there are enough for whole
/// lines, whatever their length.
__attribute__((target("avx2"))) void stream_gathered(const std::byte* from, std::int64_t from_step,
                                                     std::byte* to, std::int64_t,
                                                     std::int64_t bytes, std::int64_t count) {
  constexpr std::int64_t kGathered = 4096;
  alignas(kLine) std::byte gathered[kGathered + kLongRow + kWord];
  const std::int64_t ahead = std::max<std::int64_t>(1, kAhead / bytes);
  std::int64_t held = 0;
  // The first rows fill up to a line, so that all that is streamed begins with one.
  std::int64_t head = to_next_line(to);
  for (std::int64_t i = 0; i < count; ++i, from += from_step) {
    if (i + ahead < count) ask_for(from + ahead * from_step, bytes);
    copy_row(from, gathered + held, bytes);
    held += bytes;
    if (held < kGathered && i + 1 < count) continue;
    const std::int64_t first = std::min(head, held);
    std::memcpy(to, gathered, static_cast<std::size_t>(first));
    head -= first;
    const std::int64_t lines = (held - first) / kLine * kLine;
    stream_lines(gathered + first, to + first, lines);
    to += first + lines;
    held -= first + lines;
    std::memmove(gathered, gathered + first + lines, static_cast<std::size_t>(held));
  }
  std::memcpy(to, gathered, static_cast<std::size_t>(held));
  _mm_sfence();
}

bool has_words() {
  static const bool yes = __builtin_cpu_supports("avx2") != 0;
  return yes;
}

#endif

}  // namespace

CopyRows choose_copy_rows(std::int64_t bytes, std::int64_t to_step, std::int64_t all) {
  switch (bytes) {
    case 1:
      return copy_known<1>;
    case 2:
      return copy_known<2>;
    case 4:
      return copy_known<4>;
    case 8:
      return copy_known<8>;
    case 16:
      return copy_known<16>;
    default:
      break;
  }
#if defined(__x86_64__)
  if (has_words() && bytes >= kWord && bytes < kLongRow) {
    if (all < kStreamed || bytes < kLine) return copy_words;
    return to_step == bytes ? stream_gathered : stream_rows;
  }
#endif
  return copy_plain;
}

}  // namespace weft::reshard
