// SPDX-License-Identifier: Apache-2.0
// A table as columns: whole numbers, and texts that are spelt once each. The layout is the one that
// Apache Arrow and NumPy have, so that Python can look at a table without copying it.
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

/// Stands for "there is none" in columns that may lack values.
constexpr std::int64_t kMissing = -1;

using Integers = std::vector<std::int64_t>;

/// Different texts, end to end: text i is bytes[offsets[i], offsets[i + 1]). Valid UTF-8.
struct Dictionary {
  std::vector<std::int64_t> offsets = {0};
  std::string bytes;

  std::size_t size() const { return offsets.size() - 1; }
  std::string_view text(std::size_t i) const;
  void add(std::string_view text);
};

struct Texts {
  std::vector<std::int32_t> codes;  ///< one a row, into the dictionary
  Dictionary dictionary;
};

struct Column {
  std::string name;
  std::string meaning;          ///< one line
  bool may_be_missing = false;  ///< numbers only: kMissing stands for none
  std::variant<Integers, Texts> values;
};

struct Table {
  std::string name;
  std::vector<Column> columns;  ///< of equal length

  std::size_t rows() const;
};

/// Fills a text column row by row, or code by code.
class TextsBuilder {
 public:
  /// Bytes that are no UTF-8 become U+FFFD, before equal texts become one.
  std::int32_t code(std::string_view text);
  void add(std::int32_t code) { codes_.push_back(code); }
  void add(std::string_view text) { add(code(text)); }
  Texts finish();

 private:
  Interner names_;
  std::vector<std::int32_t> codes_;
};

/// With a row of names first. Quoted as RFC 4180 says, lines end with a line feed; a missing number
/// is an empty field.
Status write_csv(const Table& table, ByteSink& sink, const ExportProgress& progress = {});

}  // namespace weft::report
