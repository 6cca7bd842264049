// SPDX-License-Identifier: Apache-2.0
// Maps a JSON key to an enumerator. The table is a small hash table with linear probing that the
// compiler fills. A trace has dozens of keys per event, so the lookup is on the hot path of
// reading: it usually takes one probe and one comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace weft::trace {

template <class Id, std::size_t kSlots = 256>
class KeyTable {
 public:
  struct Entry {
    std::string_view text;
    Id id{};
  };

  /// find() returns `other` for a text that is not in `entries`. At most half of the slots may be
  /// used, which keeps probe sequences short and guarantees that each one ends at an empty slot.
  template <std::size_t n>
  constexpr KeyTable(const Entry (&entries)[n], Id other) : other_(other) {
    static_assert(n * 2 <= kSlots);
    for (const Entry& entry : entries) {
      std::size_t at = hash(entry.text);
      while (!slots_[at].text.empty()) at = (at + 1) % kSlots;
      slots_[at] = entry;
    }
  }

  constexpr Id find(std::string_view text) const {
    if (text.empty()) return other_;
    std::size_t at = hash(text);
    while (!slots_[at].text.empty()) {
      if (equal(slots_[at].text, text)) return slots_[at].id;
      at = (at + 1) % kSlots;
    }
    return other_;
  }

 private:
  // Keys have 2 to 33 bytes. Comparing the first and the last 4 or 8 bytes (which may overlap)
  // covers every key of 4 to 16 bytes without a call to memcmp.
  static constexpr bool equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    if (std::is_constant_evaluated() || a.size() < 4) return a == b;
    return a.size() < 8 ? ends_equal<std::uint32_t>(a, b)
                        : ends_equal<std::uint64_t>(a, b) && (a.size() <= 16 || a == b);
  }

  template <class Word>
  static bool ends_equal(std::string_view a, std::string_view b) {
    const auto load = [](const char* p) {
      Word word;
      std::memcpy(&word, p, sizeof word);
      return word;
    };
    const std::size_t last = a.size() - sizeof(Word);
    return load(a.data()) == load(b.data()) && load(a.data() + last) == load(b.data() + last);
  }

  // Length and three characters are enough to spread the keys of the formats that Weft reads; a
  // hash over all characters would cost more than the rare second probe.
  static constexpr std::size_t hash(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t n = text.size();
    return (n * 37 + byte(0) * 7u + byte(n / 2) * 13u + byte(n - 1) * 3u) % kSlots;
  }

  std::array<Entry, kSlots> slots_{};
  Id other_;
};

}  // namespace weft::trace
