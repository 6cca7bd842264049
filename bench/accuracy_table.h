// SPDX-License-Identifier: Apache-2.0
// A table of measured figures with a verdict per row, printed for a terminal or as Markdown.
#pragma once

#include <string>
#include <vector>

namespace weft::accuracy {

/// Ordered from good to bad.
enum class Verdict {
  kNone,  ///< the row has no bar
  kPass,
  kMissed,  ///< exceeds the bar, but the recording allows no better figure; not a failure
  kFail,
};

struct Row {
  std::vector<std::string> cells;
  Verdict verdict = Verdict::kNone;
};

struct Table {
  std::string title;
  std::string note;  ///< one paragraph: what is measured and what the bar is
  std::vector<std::string> columns;
  std::vector<Row> rows;

  void add(std::vector<std::string> cells, Verdict verdict = Verdict::kNone) {
    rows.push_back({std::move(cells), verdict});
  }
  bool failed() const;
};

/// kPass if `figure` is at most `bar`, else kFail.
inline Verdict at_most(double figure, double bar) {
  return figure <= bar ? Verdict::kPass : Verdict::kFail;
}

/// fixed(12.345, 2) is "12.34"; per_cent(0.012) is "1.20 %"; signed_per_cent(0.012) is "+1.2 %".
std::string fixed(double value, int digits);
std::string per_cent(double ratio, int digits = 2);
std::string signed_per_cent(double ratio, int digits = 1);

std::string as_text(const Table& table);
std::string as_markdown(const Table& table);

}  // namespace weft::accuracy
