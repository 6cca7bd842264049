// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy_table.h"

#include <algorithm>
#include <cstdio>

namespace weft::accuracy {
namespace {

std::string verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kFail:
      return "FAIL";
    default:
      return "";
  }
}

/// `text` broken into lines of at most 100 columns.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kColumns = 100;
  std::string out;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    // "5 %" stays on one line.
    if (text.compare(end, 2, " %") == 0) end = std::min(text.find(' ', end + 1), text.size());
    const std::size_t length = end - at;
    if (line > 0 && line + 1 + length > kColumns) {
      out += "\n";
      line = 0;
    }
    if (line > 0) out += " ";
    line += (line > 0 ? 1 : 0) + length;
    out += text.substr(at, length);
    at = end + 1;
  }
  return out + "\n";
}

/// The header and all rows as cells; the verdict is the last column.
std::vector<std::vector<std::string>> all_cells(const Table& table) {
  std::vector<std::vector<std::string>> lines = {table.columns};
  lines.front().push_back("");
  for (const Row& row : table.rows) {
    lines.push_back(row.cells);
    lines.back().resize(table.columns.size());
    lines.back().push_back(verdict_name(row.verdict));
  }
  return lines;
}

}  // namespace

bool Table::failed() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.verdict == Verdict::kFail; });
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string per_cent(double ratio, int digits) { return fixed(ratio * 100, digits) + " %"; }

std::string signed_per_cent(double ratio, int digits) {
  return (ratio < 0 ? "" : "+") + per_cent(ratio, digits);
}

std::string as_text(const Table& table) {
  const auto lines = all_cells(table);
  std::vector<std::size_t> width(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  std::string out = table.title + "\n" + wrapped(table.note);
  for (const auto& line : lines) {
    std::string text = "  ";
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string space(width[i] - line[i].size(), ' ');
      text += (i == 0 ? line[i] + space : space + line[i]) + "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

std::string as_markdown(const Table& table) {
  std::string out = "## " + table.title + "\n\n" + wrapped(table.note) + "\n";
  const auto lines = all_cells(table);
  for (std::size_t l = 0; l < lines.size(); ++l) {
    out += "|";
    for (const std::string& cell : lines[l]) out += " " + cell + " |";
    out += "\n";
    if (l > 0) continue;
    out += "|";
    for (std::size_t i = 0; i < lines[l].size(); ++i) out += i == 0 ? " --- |" : " ---: |";
    out += "\n";
  }
  return out;
}

}  // namespace weft::accuracy
