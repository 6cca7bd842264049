// SPDX-License-Identifier: Apache-2.0
// Copies rows. If arrays are larger than the cache, the speed of memory limits the copy. So the
// time depends on how many cache lines are moved. Two techniques keep this number low:
//
// - Streaming stores write whole lines past the cache, so that the target is never read. If two
//   adjacent rows share a line, the line is assembled first and then written once.
// - Rows that will be copied soon are prefetched, because the hardware does not prefetch rows that
//   are far apart.
//
// docs/design/reshard.md, section "Strided copies", has the measurements behind the constants.
#include "weft/reshard/execute/host/copy_rows.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::reshard {
namespace {

/// For rows of at least this many bytes, memcpy() is as fast as the functions of this file.
constexpr std::int64_t kLongRow = 256 << 10;

/// Prefetches into the second-level cache, because the first-level cache has room for fewer
/// requests. Each line should be requested only once, because a second request also costs time.
inline void prefetch(const std::byte* at) { __builtin_prefetch(at, 0, 2); }

/// Copies rows whose length the compiler knows, so that it can unroll the copy.
template <std::int64_t kBytes>
void copy_known(const Rows& rows) {
  const std::byte *from = rows.from, *upcoming = rows.upcoming;
  std::byte* to = rows.to;
  for (std::int64_t i = 0; i < rows.count; ++i, from += rows.from_step, to += rows.to_step) {
    if (upcoming != nullptr) prefetch(upcoming + i * rows.from_step);
    std::memcpy(to, from, kBytes);
  }
}

void copy_plain(const Rows& rows) {
  const std::byte* from = rows.from;
  std::byte* to = rows.to;
  for (std::int64_t i = 0; i < rows.count; ++i, from += rows.from_step, to += rows.to_step) {
    if (rows.upcoming != nullptr) prefetch(rows.upcoming + i * rows.from_step);
    std::memcpy(to, from, static_cast<std::size_t>(rows.bytes));
  }
}

#if defined(__x86_64__)

#define WEFT_AVX2 __attribute__((target("avx2")))
#define WEFT_VBMI __attribute__((target("avx512bw,avx512vbmi,avx2")))

constexpr std::int64_t kWord = 32;
constexpr std::int64_t kLine = kShortestInterleaved;

std::int64_t past_line(const std::byte* at) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % kLine);
}
std::int64_t to_next_line(const std::byte* at) { return (kLine - past_line(at)) % kLine; }

WEFT_AVX2 inline __m256i load(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
WEFT_AVX2 inline void store(std::byte* to, __m256i word) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), word);
}
/// Writes a whole line past the caches.
WEFT_AVX2 inline void stream_line(const std::byte* from, std::byte* to) {
  const __m256i first = load(from), second = load(from + kWord);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), first);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to + kWord), second);
}

/// Copies with two words that may overlap: the first word and the last word of the bytes.
template <class Word>
inline void copy_ends(const std::byte* from, std::byte* to, std::int64_t bytes) {
  Word first, last;
  const std::int64_t end = bytes - static_cast<std::int64_t>(sizeof(Word));
  std::memcpy(&first, from, sizeof(Word));
  std::memcpy(&last, from + end, sizeof(Word));
  std::memcpy(to, &first, sizeof(Word));
  std::memcpy(to + end, &last, sizeof(Word));
}

/// Copies less than a line. Masked stores would need less code, but they stall streaming stores to
/// nearby addresses.
WEFT_AVX2 inline void copy_rest(const std::byte* from, std::byte* to, std::int64_t bytes) {
  if (bytes >= kWord) {
    copy_ends<__m256i>(from, to, bytes);
  } else if (bytes >= 16) {
    copy_ends<__m128i>(from, to, bytes);
  } else if (bytes >= 8) {
    copy_ends<std::uint64_t>(from, to, bytes);
  } else if (bytes >= 4) {
    copy_ends<std::uint32_t>(from, to, bytes);
  } else {
    for (std::int64_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

/// Prefetches the lines of a row one at a time, so that requests are spread between other work.
class Prefetcher {
 public:
  Prefetcher(const std::byte* row, std::int64_t bytes) : next_(row), end_(row + bytes) {
    if (row != nullptr) next_ = row - past_line(row);
  }
  void one() {
    if (next_ >= end_) return;
    prefetch(next_);
    next_ += kLine;
  }
  void rest() {
    while (next_ < end_) one();
  }

 private:
  const std::byte *next_, *end_;
};

Prefetcher prefetcher(const Rows& rows, std::int64_t i) {
  if (rows.upcoming == nullptr) return {nullptr, 0};
  return {rows.upcoming + i * rows.from_step, rows.bytes};
}

/// Copies rows of any length through the caches.
WEFT_AVX2 void copy_cached(const Rows& rows) {
  const std::byte* from = rows.from;
  std::byte* to = rows.to;
  for (std::int64_t i = 0; i < rows.count; ++i, from += rows.from_step, to += rows.to_step) {
    Prefetcher upcoming = prefetcher(rows, i);
    std::int64_t at = 0;
    for (; at + kLine <= rows.bytes; at += kLine) {
      upcoming.one();
      const __m256i first = load(from + at), second = load(from + at + kWord);
      store(to + at, first);
      store(to + at + kWord, second);
    }
    copy_rest(from + at, to + at, rows.bytes - at);
    upcoming.rest();
  }
}

/// Copies rows that begin and end at line boundaries of the target. Several rows are copied
/// together, so that several loads are in flight at once.
WEFT_AVX2 void stream_lines(const Rows& rows) {
  constexpr std::int64_t kTogether = 8;
  const std::byte *from = rows.from, *upcoming = rows.upcoming;
  std::byte* to = rows.to;
  for (std::int64_t left = rows.count; left > 0; left -= kTogether) {
    const std::int64_t now = left < kTogether ? left : kTogether;
    for (std::int64_t at = 0; at < rows.bytes; at += kLine) {
      for (std::int64_t i = 0; i < now && upcoming != nullptr; ++i)
        prefetch(upcoming + i * rows.from_step + at);
      for (std::int64_t i = 0; i < now; ++i) {
        stream_line(from + i * rows.from_step + at, to + i * rows.to_step + at);
      }
    }
    // A row that does not begin at a line boundary touches one more line.
    for (std::int64_t i = 0; i < now && upcoming != nullptr && past_line(upcoming) != 0; ++i) {
      prefetch(upcoming + i * rows.from_step + rows.bytes - 1);
    }
    from += now * rows.from_step;
    to += now * rows.to_step;
    if (upcoming != nullptr) upcoming += now * rows.from_step;
  }
}

bool whole_lines(const Rows& rows) {
  return rows.bytes % kLine == 0 && rows.to_step % kLine == 0 && past_line(rows.to) == 0;
}

/// Copies rows that have at least a line and are not adjacent at the destination. Whole lines are
/// streamed. The first and last line of a row may also contain other bytes, so they are prefetched
/// for writing.
WEFT_AVX2 void stream_apart(const Rows& rows) {
  if (whole_lines(rows)) return stream_lines(rows);
  constexpr std::int64_t kPrefetchForWriteBytes = 2 << 10;
  const std::int64_t ahead = 1 + kPrefetchForWriteBytes / rows.bytes;
  const std::byte* from = rows.from;
  std::byte* to = rows.to;
  for (std::int64_t i = 0; i < rows.count; ++i, from += rows.from_step, to += rows.to_step) {
    if (i + ahead < rows.count) {
      const std::byte *begin = to + ahead * rows.to_step, *end = begin + rows.bytes;
      if (past_line(begin) != 0) __builtin_prefetch(begin, 1, 3);
      if (past_line(end) != 0) __builtin_prefetch(end, 1, 3);
    }
    Prefetcher upcoming = prefetcher(rows, i);
    std::int64_t at = to_next_line(to);
    copy_rest(from, to, at);
    for (; at + kLine <= rows.bytes; at += kLine) {
      upcoming.one();
      stream_line(from + at, to + at);
    }
    copy_rest(from + at, to + at, rows.bytes - at);
    upcoming.rest();
  }
}

/// Assembles, in memory, the line that two adjacent rows share.
class SharedLine {
 public:
  /// Puts the beginning of a row after the `held` bytes that end_with() has left, and writes the
  /// line.
  WEFT_AVX2 void stream_with(const std::byte* row, std::int64_t held, std::byte* to) {
    const __m256i first = load(row), second = load(row + kWord);
    store(line() + held, first);
    store(line() + held + kWord, second);
    stream_line(line(), to);
  }
  /// Puts the last `held` bytes of a row at the beginning of the line.
  WEFT_AVX2 void end_with(const std::byte* row_end, std::int64_t held) {
    const __m256i first = load(row_end - kLine), second = load(row_end - kWord);
    store(line() + held - kLine, first);
    store(line() + held - kWord, second);
  }

 private:
  std::byte* line() { return buffer_ + kLine; }
  /// The shared line, with one more line on each side. So stores of a whole line stay inside the
  /// buffer.
  alignas(kLine) std::byte buffer_[3 * kLine];
};

/// The numbers 0, 1, 2, ..., one per byte of a line.
WEFT_VBMI __m512i counted() {
  alignas(kLine) static constexpr auto kNumbers = [] {
    std::array<std::uint8_t, kLine> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i);
    return numbers;
  }();
  return _mm512_load_si512(kNumbers.data());
}

/// Does the same as SharedLine in a register, by permuting its bytes.
class SharedRegister {
 public:
  WEFT_VBMI void stream_with(const std::byte* row, std::int64_t held, std::byte* to) {
    const __m512i back = _mm512_set1_epi8(static_cast<char>(held));
    line_ = _mm512_mask_permutexvar_epi8(line_, ~std::uint64_t{0} << held,
                                         _mm512_sub_epi8(counted(), back), _mm512_loadu_si512(row));
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line_);
  }
  WEFT_VBMI void end_with(const std::byte* row_end, std::int64_t held) {
    const __m512i ahead = _mm512_set1_epi8(static_cast<char>(kLine - held));
    line_ = _mm512_permutexvar_epi8(_mm512_add_epi8(counted(), ahead),
                                    _mm512_loadu_si512(row_end - kLine));
  }

 private:
  __m512i line_;
};

/// Copies rows that have at least a line and are adjacent at the destination. Writes no byte
/// outside of the rows, because that would fetch another line. `upcoming`: see Rows; only if all
/// rows come from one source.
template <class Shared>
WEFT_AVX2 inline __attribute__((always_inline)) void interleave(const InterleavedRows& rows,
                                                                const std::byte* upcoming) {
  Shared shared;
  std::int64_t held = past_line(rows.to);  // bytes of the line at `to` that are already written
  bool ours = held == 0;                   // false: the line begins with bytes that are not copied
  std::byte* to = rows.to - held;
  const std::byte* end = nullptr;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    for (const std::byte* place : rows.from) {
      Prefetcher next(upcoming == nullptr ? nullptr : upcoming + i * rows.from_step,
                      upcoming == nullptr ? 0 : rows.bytes);
      next.one();
      const std::byte* from = place + i * rows.from_step;
      std::int64_t at = kLine - held;
      if (ours) {
        shared.stream_with(from, held, to);
      } else {
        copy_rest(from, to + held, at);
        ours = true;
      }
      to += kLine;
      for (; at + kLine <= rows.bytes; at += kLine, to += kLine) {
        next.one();
        stream_line(from + at, to);
      }
      held = rows.bytes - at;
      end = from + rows.bytes;
      shared.end_with(end, held);
      next.rest();
    }
  }
  if (held > 0) copy_rest(end - held, to, held);
}

WEFT_AVX2 void interleave_by_memory(const InterleavedRows& rows, const std::byte* upcoming) {
  interleave<SharedLine>(rows, upcoming);
}
WEFT_VBMI void interleave_by_registers(const InterleavedRows& rows, const std::byte* upcoming) {
  interleave<SharedRegister>(rows, upcoming);
}

/// Copies rows of one source that are adjacent at the destination.
template <void (*kInterleave)(const InterleavedRows&, const std::byte*)>
void stream_dense(const Rows& rows) {
  if (whole_lines(rows)) return stream_lines(rows);
  kInterleave({{&rows.from, 1}, rows.from_step, rows.to, rows.bytes, rows.count}, rows.upcoming);
}

#endif

}  // namespace

Vectors available_vectors() {
#if defined(__x86_64__)
  static const Vectors found = [] {
    if (__builtin_cpu_supports("avx2") == 0) return Vectors::kNone;
    const bool turns =
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vbmi") != 0;
    return turns ? Vectors::kAvx512 : Vectors::kAvx2;
  }();
  return found;
#else
  return Vectors::kNone;
#endif
}

CopyRows choose_copy_rows(std::int64_t bytes, std::int64_t to_step, std::int64_t all,
                          Vectors vectors) {
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
  if (vectors == Vectors::kNone || bytes >= kLongRow) return copy_plain;
#if defined(__x86_64__)
  if (all < kStreamed || bytes < kLine) return copy_cached;
  if (to_step != bytes) return stream_apart;
  return vectors == Vectors::kAvx512 ? stream_dense<interleave_by_registers>
                                     : stream_dense<interleave_by_memory>;
#else
  return copy_plain;
#endif
}

void copy_interleaved_rows(const InterleavedRows& rows, Vectors vectors) {
#if defined(__x86_64__)
  if (vectors == Vectors::kAvx512) return interleave_by_registers(rows, nullptr);
  if (vectors == Vectors::kAvx2) return interleave_by_memory(rows, nullptr);
#endif
  std::byte* to = rows.to;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    for (const std::byte* place : rows.from) {
      std::memcpy(to, place + i * rows.from_step, static_cast<std::size_t>(rows.bytes));
      to += rows.bytes;
    }
  }
}

void finish_copies() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace weft::reshard
