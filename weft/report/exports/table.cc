// SPDX-License-Identifier: Apache-2.0
#include "weft/report/exports/table.h"

#include <charconv>

#include "weft/base/utf8.h"

namespace weft::report {
namespace {

/// Puts a field in double quotes if it contains a comma, a double quote or a line end. Double
/// quotes inside the field are doubled (RFC 4180).
std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out += '"';
}

/// A column that is ready to be written. Its texts are already quoted, so that each distinct text
/// is quoted once and not once per row.
struct Fields {
  const Column* column;
  std::vector<std::string> texts;

  void append(std::string& out, std::size_t row) const {
    if (const auto* values = std::get_if<Texts>(&column->values)) {
      out += texts[static_cast<std::size_t>(values->codes[row])];
      return;
    }
    const std::int64_t value = std::get<Integers>(column->values)[row];
    if (column->may_be_missing && value == kMissing) return;
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
};

}  // namespace

std::string_view Dictionary::text(std::size_t i) const {
  const auto from = static_cast<std::size_t>(offsets[i]);
  return std::string_view(bytes).substr(from, static_cast<std::size_t>(offsets[i + 1]) - from);
}

void Dictionary::add(std::string_view text) {
  bytes += text;
  offsets.push_back(static_cast<std::int64_t>(bytes.size()));
}

std::int32_t TextsBuilder::code(std::string_view text) {
  // Almost all texts are valid and are interned without a copy.
  std::string_view rest = text;
  while (!rest.empty() && utf8_length(rest) > 0) rest.remove_prefix(utf8_length(rest));
  if (rest.empty()) return static_cast<std::int32_t>(names_.intern(text));
  // Copies valid characters and replaces each invalid byte by U+FFFD. After an invalid byte,
  // decoding continues at the next byte.
  std::string valid(text.substr(0, text.size() - rest.size()));
  while (!rest.empty()) {
    const std::size_t length = utf8_length(rest);
    if (length > 0) {
      valid += rest.substr(0, length);
    } else {
      append_utf8(valid, kReplacementCharacter);
    }
    rest.remove_prefix(length > 0 ? length : 1);
  }
  return static_cast<std::int32_t>(names_.intern(valid));
}

std::size_t Table::rows() const {
  if (columns.empty()) return 0;
  const auto& values = columns.front().values;
  if (const auto* texts = std::get_if<Texts>(&values)) return texts->codes.size();
  return std::get<Integers>(values).size();
}

Texts TextsBuilder::finish() {
  Texts texts;
  texts.codes = std::move(codes_);
  for (NameId id = 0; id < names_.size(); ++id) texts.dictionary.add(names_.text(id));
  return texts;
}

Status write_csv(const Table& table, ByteSink& sink, const ExportProgress& progress) {
  // The callback is called only once per this number of rows: it may print the progress, which
  // takes much longer than writing a row.
  constexpr std::size_t kRowsBetweenReports = 1u << 16;
  BufferedWriter out(sink);
  std::vector<Fields> fields;
  for (const Column& column : table.columns) {
    out.buffer() += (fields.empty() ? "" : ",") + quoted(column.name);
    Fields& field = fields.emplace_back(Fields{&column, {}});
    if (const auto* texts = std::get_if<Texts>(&column.values)) {
      for (std::size_t i = 0; i < texts->dictionary.size(); ++i) {
        field.texts.push_back(quoted(texts->dictionary.text(i)));
      }
    }
  }
  out.buffer() += '\n';
  for (std::size_t row = 0, rows = table.rows(); row < rows; ++row) {
    for (const Fields& field : fields) {
      if (&field != &fields.front()) out.buffer() += ',';
      field.append(out.buffer(), row);
    }
    out.buffer() += '\n';
    WEFT_TRY(out.advance());
    if (row % kRowsBetweenReports == 0) WEFT_TRY(report_progress(progress, row, rows));
  }
  return out.flush();
}

}  // namespace weft::report
