// SPDX-License-Identifier: Apache-2.0
// Writes a packed file. describe() in schema.h calls one method of Packer per table, record, column
// or list; each becomes one section per column. A column that has its default value in every row is
// left out.
#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "weft/trace/formats/packed/container.h"
#include "weft/trace/formats/packed/integers.h"
#include "weft/trace/formats/packed/packed.h"
#include "weft/trace/formats/packed/schema.h"

namespace weft::trace {
namespace packed {
namespace {

using Keys = std::vector<std::uint32_t>;

/// Encodes every column of integers in all ways that encode() offers, and keeps the smallest
/// result.
class Packer {
 public:
  template <class Row, class... Columns>
  void table(const char* name, const std::vector<Row>& rows, const Columns&... columns) {
    if (!rows.empty()) rows_of(name, std::span(rows), columns...);
  }
  template <class Row, class... Columns>
  void record(const char* name, const Row& row, const Columns&... columns) {  // a table of one row
    rows_of(name, std::span(&row, 1), columns...);
  }
  void origin(const char* name, const RankTrace& trace) {
    add_texts(name, {trace.origin.empty() ? trace.file : trace.origin});
  }
  template <class T>
  void column(const char* name, const std::vector<T>& values, const Keys& keys) {
    add_integers(name, to_integers(values), keys);
  }
  // Turns event kinds into keys for the columns that describe() names after the kinds.
  template <class T>
  Keys keys(const std::vector<T>& values) {
    Keys out;
    for (const T value : values) out.push_back(static_cast<std::uint32_t>(value));
    return out;
  }
  void names(const char* name, const Interner& names) {
    std::vector<std::string> list;
    for (NameId id = 0; id < names.size(); ++id) list.emplace_back(names.text(id));
    add_texts(name, list);
  }
  void texts(const char* name, const std::vector<std::string>& list) {
    if (!list.empty()) add_texts(name, list);
  }
  // A list per row becomes two columns: the lengths, and the values of all lists in order.
  template <class Row, class T>
  void lists(const std::string& name, const std::vector<Row>& rows, std::vector<T> Row::*member) {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> all;
    for (const Row& row : rows) {
      sizes.push_back(static_cast<std::int64_t>((row.*member).size()));
      all.insert(all.end(), (row.*member).begin(), (row.*member).end());
    }
    if (all.empty()) return;
    add_integers(name + ".count", sizes, {});
    add_integers(name, all, {});
  }

  const std::vector<Section>& sections() const { return sections_; }

 private:
  template <class Row, class... Columns>
  void rows_of(const std::string& table, std::span<const Row> rows, const Columns&... columns) {
    // The first column is always written, because its length is the number of rows. The other
    // columns are written only if some row differs from the default.
    const Row defaults{};
    bool first = true;
    (add_member(table, rows, defaults, columns, std::exchange(first, false)), ...);
  }

  template <class Row, class T>
  void add_member(const std::string& table, std::span<const Row> rows, const Row& defaults,
                  const Column<Row, T>& column, bool always) {
    const auto is_default = [&](const Row& row) {
      return row.*column.member == defaults.*column.member;
    };
    if (!always && std::all_of(rows.begin(), rows.end(), is_default)) return;
    const std::string name = table + "." + column.name;
    if constexpr (std::is_same_v<T, std::string>) {
      std::vector<std::string> list;
      for (const Row& row : rows) list.push_back(row.*column.member);
      add_texts(name, list);
    } else {
      std::vector<std::int64_t> values;
      values.reserve(rows.size());
      for (const Row& row : rows) values.push_back(static_cast<std::int64_t>(row.*column.member));
      add_integers(name, values, {});
    }
  }

  template <class T>
  static std::vector<std::int64_t> to_integers(const std::vector<T>& values) {
    std::vector<std::int64_t> out(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<std::int64_t>(values[i]);
    return out;
  }

  void add_integers(const std::string& name, const std::vector<std::int64_t>& values,
                    const Keys& keys) {
    const bool keyed = !keys.empty() && *std::max_element(keys.begin(), keys.end()) < kLargestKey;
    std::string best;
    std::size_t best_size = 0;
    // Prediction by key has the highest number in the enum, so it is left out if there are no
    // usable keys.
    const std::uint8_t predictions = keyed ? kPredictions : kPredictions - 1;
    for (std::uint8_t prediction = 0; prediction < predictions; ++prediction) {
      for (std::uint8_t layout = 0; layout < kLayouts; ++layout) {
        std::string content =
            encode(values, keys, static_cast<Prediction>(prediction), static_cast<Layout>(layout));
        const std::size_t size = packed_size(content);
        if (!best.empty() && size >= best_size) continue;
        best = std::move(content);
        best_size = size;
      }
    }
    sections_.push_back({name, values.size(), std::move(best)});
  }

  void add_texts(const std::string& name, const std::vector<std::string>& list) {
    std::string content;
    for (const std::string& text : list) append_varint(content, text.size());
    for (const std::string& text : list) content += text;
    sections_.push_back({name, list.size(), std::move(content)});
  }

  std::vector<Section> sections_;
};

}  // namespace
}  // namespace packed

std::string pack(const RankTrace& trace) {
  packed::Packer packer;
  packed::describe(packer, trace);
  return packed::write_container(packer.sections());
}

}  // namespace weft::trace
