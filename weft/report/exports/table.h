// SPDX-License-Identifier: Apache-2.0
// A table that consists of columns. A column has integers, or texts that are stored as indices into
// a dictionary. The memory layout is that of Apache Arrow and NumPy, so that Python can use a table
// without copying it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/result.h"
#include "weft/base/sink.h"
#include "weft/report/exports/export_progress.h"

namespace weft::report {

/// The value of an empty field, in columns with `may_be_missing`.
constexpr std::int64_t kMissing = -1;

using Integers = std::vector<std::int64_t>;

/// Distinct texts, stored one after the other: text i is bytes[offsets[i], offsets[i + 1]). All
/// texts are valid UTF-8.
struct Dictionary {
  std::vector<std::int64_t> offsets = {0};
  std::string bytes;

  std::size_t size() const { return offsets.size() - 1; }
  std::string_view text(std::size_t i) const;
  void add(std::string_view text);
};

struct Texts {
  std::vector<std::int32_t> codes;  ///< one per row; an index into the dictionary
  Dictionary dictionary;
};

struct Column {
  std::string name;
  std::string meaning;          ///< description in one line
  bool may_be_missing = false;  ///< integers only: kMissing means that a row has no value
  std::variant<Integers, Texts> values;
};

struct Table {
  std::string name;
  std::vector<Column> columns;  ///< all of the same length

  std::size_t rows() const;
};

/// Builds a text column row by row. A caller that adds the same text often can get the code of the
/// text once and then add the code. This avoids a hash lookup per row.
class TextsBuilder {
 public:
  /// The code of a text: its index in the dictionary. Bytes that are not valid UTF-8 are replaced
  /// by U+FFFD first, so texts that differ only in such bytes may get the same code.
  std::int32_t code(std::string_view text);
  void add(std::int32_t code) { codes_.push_back(code); }
  void add(std::string_view text) { add(code(text)); }
  Texts finish();

 private:
  Interner names_;
  std::vector<std::int32_t> codes_;
};

/// Writes a header row with the column names, then the rows. Fields are quoted according to RFC
/// 4180; lines end with a line feed. A missing integer is an empty field.
Status write_csv(const Table& table, ByteSink& sink, const ExportProgress& progress = {});

}  // namespace weft::report
