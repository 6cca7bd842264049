// SPDX-License-Identifier: Apache-2.0
// Reads a packed file. describe() in schema.h calls the methods of Unpacker in the same order in
// which it calls the methods of Packer. The content is not trusted: decode() and the methods here
// check all lengths and ranges, and verify() checks afterwards that indices between tables are
// valid.
#include <algorithm>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/trace/formats/packed/container.h"
#include "weft/trace/formats/packed/integers.h"
#include "weft/trace/formats/packed/packed.h"
#include "weft/trace/formats/packed/schema.h"
#include "weft/trace/verify.h"

namespace weft::trace {
namespace packed {
namespace {

constexpr DiagnosticKind kNewer{
    "packed-by-newer", Severity::kInfo, "sections that this Weft does not know were skipped",
    "nothing needs to be done; the newer Weft that packed the recording can read them"};

using Keys = std::vector<std::uint32_t>;
using Entry = Container::Entry;

/// Fills the members that describe() names from the sections of the file. After the first failure
/// all methods do nothing, so describe() needs no error handling. status() returns the first
/// failure.
class Unpacker {
 public:
  explicit Unpacker(const Container& container) : container_(container) {}

  template <class Row, class... Columns>
  void table(const char* name, std::vector<Row>& rows, const Columns&... columns) {
    const char* const first = std::get<0>(std::tie(columns...)).name;
    const Entry* entry = find(std::string(name) + "." + first);
    if (entry == nullptr) {
      // Without its first column a table is empty. find() marks the other columns as known, so
      // that they are not reported as sections of a newer Weft.
      (find(std::string(name) + "." + columns.name), ...);
      return;
    }
    // The length of the first column is the number of rows; member() checks it for the others.
    rows.resize(entry->rows);
    (member(name, std::span(rows), columns), ...);
  }
  template <class Row, class... Columns>
  void record(const char* name, Row& row, const Columns&... columns) {
    (member(name, std::span(&row, 1), columns), ...);
  }
  void origin(const char* name, RankTrace& trace) {
    std::vector<std::string> list;
    texts(name, list);
    if (list.size() == 1) trace.origin = std::move(list.front());
  }
  template <class T>
  void column(const char* name, std::vector<T>& values, const Keys& keys) {
    const Entry* entry = find(name);
    if (entry == nullptr) return;
    read_integers(*entry, keys);
    if (!status_) return;
    values.resize(numbers_.size());
    for (std::size_t i = 0; i < numbers_.size(); ++i) store(*entry, numbers_[i], values[i]);
  }
  template <class T>
  Keys keys(const std::vector<T>& values) {
    Keys out;
    out.reserve(values.size());
    for (const T value : values) out.push_back(static_cast<std::uint32_t>(value));
    return out;
  }
  void names(const char* name, Interner& names) {
    std::vector<std::string> list;
    const Entry* entry = texts(name, list);
    for (const std::string& text : list) names.intern(text);
    if (entry != nullptr && names.size() != list.size()) {
      // The number that interning gives to a text must be the text's position in the file, because
      // other columns refer to names by position.
      fail_with(*entry, "it repeats a text, or its first text is not empty");
    }
  }
  const Entry* texts(const std::string& name, std::vector<std::string>& list) {
    const Entry* entry = find(name);
    if (entry == nullptr) return nullptr;
    auto content = container_.content(*entry);
    if (!content) {
      status_ = tl::unexpected(content.error());
      return nullptr;
    }
    std::string_view bytes = *content;
    // Each text has at least one byte of length. Checking this first bounds the allocation.
    if (entry->rows > bytes.size()) return fail_with(*entry, "it is too short");
    std::vector<std::uint64_t> sizes(entry->rows);
    for (std::uint64_t& size : sizes) {
      if (!take_varint(bytes, size)) return fail_with(*entry, "it is too short");
    }
    list.reserve(sizes.size());
    for (const std::uint64_t size : sizes) {
      if (size > bytes.size()) return fail_with(*entry, "it is too short");
      list.emplace_back(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    return bytes.empty() ? entry : fail_with(*entry, "it is too long");
  }
  template <class Row, class T>
  void lists(const std::string& name, std::vector<Row>& rows, std::vector<T> Row::*to) {
    std::vector<std::uint64_t> sizes;
    column((name + ".count").c_str(), sizes, {});
    std::vector<T> all;
    column(name.c_str(), all, {});
    const Entry* entry = find(name);
    if (entry == nullptr) return;
    auto from = all.begin();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i >= rows.size() || sizes[i] > static_cast<std::uint64_t>(all.end() - from)) {
        fail_with(*entry, "its length does not match its table");
        return;
      }
      (rows[i].*to).assign(from, from + static_cast<std::ptrdiff_t>(sizes[i]));
      from += static_cast<std::ptrdiff_t>(sizes[i]);
    }
  }

  const Status& status() const { return status_; }
  /// Names of the sections that describe() did not ask for.
  std::vector<std::string> unknown() const {
    std::vector<std::string> out;
    for (const Entry& entry : container_.entries()) {
      if (!known_.contains(entry.name)) out.emplace_back(entry.name);
    }
    return out;
  }

 private:
  /// Looks up a section and marks it as known. Returns null if the section is absent or something
  /// failed before.
  const Entry* find(const std::string& name) {
    const Entry* entry = status_ ? container_.find(name) : nullptr;
    if (entry != nullptr) known_.insert(entry->name);
    return entry;
  }

  const Entry* fail_with(const Entry& entry, const char* what) {
    status_ = container_.damaged(entry, what);
    return nullptr;
  }

  void read_integers(const Entry& entry, const Keys& keys) {
    const auto content = container_.content(entry);
    if (!content) {
      status_ = tl::unexpected(content.error());
      return;
    }
    numbers_.resize(entry.rows);
    if (!decode(*content, keys, numbers_)) fail_with(entry, "its numbers cannot be decoded");
  }

  // Narrows a number to the type of the member; a number that does not fit is damage.
  template <class T>
  void store(const Entry& entry, std::int64_t number, T& value) {
    value = static_cast<T>(number);
    if (static_cast<std::int64_t>(value) != number) fail_with(entry, "a number is out of range");
  }

  template <class Row, class T>
  void member(const char* table, std::span<Row> rows, const Column<Row, T>& column) {
    const Entry* entry = find(std::string(table) + "." + column.name);
    if (entry == nullptr) return;
    if (entry->rows != rows.size()) {
      fail_with(*entry, "its length does not match its table");
      return;
    }
    if constexpr (std::is_same_v<T, std::string>) {
      std::vector<std::string> list;
      if (texts(std::string(entry->name), list) == nullptr) return;
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i].*column.member = std::move(list[i]);
    } else {
      read_integers(*entry, {});
      if (!status_) return;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        store(*entry, numbers_[i], rows[i].*column.member);
      }
    }
  }

  const Container& container_;
  std::set<std::string_view> known_;
  std::vector<std::int64_t> numbers_;  ///< values of the current column; kept to reuse the memory
  Status status_;
};

class PackedReader : public Reader {
 public:
  const char* name() const override { return "weft"; }
  const char* description() const override { return "recordings packed by weft pack (*.weft)"; }
  int recognise(std::string_view head) const override { return head.starts_with(kMagic) ? 100 : 0; }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    // whole() gives the mapped file without a copy; sources that cannot be mapped are read.
    std::string pulled;
    std::optional<std::string_view> bytes = source.whole();
    if (!bytes) {
      WEFT_ASSIGN(pulled, read_rest(source));
      bytes = pulled;
    }
    if (options.progress && !options.progress(static_cast<std::int64_t>(bytes->size()))) {
      return fail(ErrorCode::kCancelled, "interrupted", source.name());
    }
    std::vector<RankTrace> traces;
    WEFT_ASSIGN(RankTrace trace, unpack(*bytes, source.name(), diagnostics));
    traces.push_back(std::move(trace));
    return traces;
  }
};

}  // namespace
}  // namespace packed

Result<RankTrace> unpack(std::string_view bytes, const std::string& name, Diagnostics& diagnostics,
                         packed::Checksums checksums) {
  WEFT_ASSIGN(const packed::Container container, packed::Container::open(bytes, name, checksums));
  RankTrace trace;
  trace.file = name;
  packed::Unpacker unpacker(container);
  packed::describe(unpacker, trace);
  WEFT_TRY(unpacker.status());
  for (const std::string& section : unpacker.unknown()) {
    diagnostics.add(packed::kNewer, name + ": " + section);
  }
  // Indices between tables may be wrong even if every section is intact, if another program wrote
  // the file.
  if (const Status whole = verify(trace); !whole) {
    return fail(whole.error().code, whole.error().message + "; pack the original again", name);
  }
  return trace;
}

std::unique_ptr<Reader> make_packed_reader() { return std::make_unique<packed::PackedReader>(); }

}  // namespace weft::trace
