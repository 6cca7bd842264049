// SPDX-License-Identifier: Apache-2.0
#include "weft/base/interner.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/base/check.h"

namespace weft {
namespace {

constexpr std::size_t kFirstChunk = 4096;
constexpr std::size_t kLargestChunk = 1u << 20;
constexpr std::uint32_t kEmpty = 0xffffffffu;

/// Reads 8 bytes as a number. Uses memcpy because the bytes may not be aligned. Compilers turn it
/// into one load.
std::uint64_t load8(const char* p) {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

/// Multiplies and combines the high and the low half of the 128-bit product. So every input bit
/// affects many output bits.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Computes the hash of a text. Multiplies and mixes 16 bytes at a time, as wyhash does. Every event
// of a trace looks up its name, so speed matters here.
std::uint32_t hash_of(std::string_view text) {
  constexpr std::uint64_t k0 = 0x9e3779b97f4a7c15u;
  constexpr std::uint64_t k1 = 0xe7037ed1a0b428dbu;
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t h = n * k0;
  for (; n > 16; n -= 16, p += 16) h = mix(load8(p) ^ k0 ^ h, load8(p + 8) ^ k1);
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  if (n >= 8) {
    a = load8(p);
    b = load8(p + n - 8);
  } else if (n > 0) {
    std::memcpy(&a, p, n);
  }
  h = mix(a ^ k0 ^ h, b ^ k1 ^ h);
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

}  // namespace

// A hash table with open addressing and linear probing. Each slot also keeps the hash of its text.
// So most lookups compare texts only once, and a growing table does not read any text. Texts lie in
// chunks of memory that never move, so views of them stay valid.
struct Interner::State {
  struct Slot {
    std::uint32_t hash = 0;
    NameId id = kEmpty;
  };

  std::vector<Slot> slots = std::vector<Slot>(64);
  std::vector<std::string_view> texts;
  std::vector<std::unique_ptr<char[]>> chunks;
  std::size_t chunk_left = 0;
  std::size_t next_chunk = kFirstChunk;
  char* chunk_at = nullptr;

  std::string_view store(std::string_view text) {
    if (text.size() > chunk_left) {
      // Start with small chunks and double them: a big job has thousands of small interners.
      const std::size_t size = std::max(next_chunk, text.size());
      next_chunk = std::min(next_chunk * 2, kLargestChunk);
      chunks.push_back(std::make_unique_for_overwrite<char[]>(size));
      chunk_at = chunks.back().get();
      chunk_left = size;
    }
    if (!text.empty()) std::memcpy(chunk_at, text.data(), text.size());
    const std::string_view kept(chunk_at, text.size());
    chunk_at += text.size();
    chunk_left -= text.size();
    return kept;
  }

  std::size_t probe(std::string_view text, std::uint32_t hash) const {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = hash & mask;
    while (slots[at].id != kEmpty && (slots[at].hash != hash || texts[slots[at].id] != text)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots.size() * 2);
    old.swap(slots);
    const std::size_t mask = slots.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id == kEmpty) continue;
      std::size_t at = slot.hash & mask;
      while (slots[at].id != kEmpty) at = (at + 1) & mask;
      slots[at] = slot;
    }
  }

  NameId intern(std::string_view text) {
    const std::uint32_t hash = hash_of(text);
    std::size_t at = probe(text, hash);
    if (slots[at].id != kEmpty) return slots[at].id;
    if ((texts.size() + 1) * 2 > slots.size()) {  // at most half full, so that probes are short
      grow();
      at = probe(text, hash);
    }
    const NameId id = static_cast<NameId>(texts.size());
    texts.push_back(store(text));
    slots[at] = {hash, id};
    return id;
  }
};

Interner::Interner() : state_(std::make_unique<State>()) { state_->intern({}); }
Interner::~Interner() = default;
Interner::Interner(Interner&&) noexcept = default;
Interner& Interner::operator=(Interner&&) noexcept = default;

Interner::Interner(const Interner& other) : Interner() { *this = other; }

Interner& Interner::operator=(const Interner& other) {
  if (this == &other) return *this;
  // A member-wise copy would keep views into the chunks of the original. So intern all texts again,
  // in the order of their ids, which gives them the same ids.
  auto copy = std::make_unique<State>();
  for (std::string_view text : other.state_->texts) copy->intern(text);
  state_ = std::move(copy);
  return *this;
}

NameId Interner::intern(std::string_view text) { return state_->intern(text); }

NameId Interner::find(std::string_view text, NameId missing) const {
  const NameId id = state_->slots[state_->probe(text, hash_of(text))].id;
  return id == kEmpty ? missing : id;
}

std::string_view Interner::text(NameId id) const {
  WEFT_CHECK(id < state_->texts.size());
  return state_->texts[id];
}

std::size_t Interner::size() const { return state_->texts.size(); }

}  // namespace weft
