// SPDX-License-Identifier: Apache-2.0
// A bar and the figures it is held against, printed for a terminal or for the documentation.
#pragma once

#include <string>
#include <vector>

namespace weft::accuracy {

/// From good to bad.
enum class Verdict {
  kNone,  ///< a figure for the reader, held against nothing
  kPass,
  kMissed,  ///< beyond the bar, but the recording itself forbids better: told, not a failure
  kFail,
};

struct Row {
  std::vector<std::string> cells;
  Verdict verdict = Verdict::kNone;
};

struct Table {
  std::string title;
  std::string note;  ///< what is measured and what the bar is; one paragraph
  std::vector<std::string> columns;
  std::vector<Row> rows;

  void add(std::vector<std::string> cells, Verdict verdict = Verdict::kNone) {
    rows.push_back({std::move(cells), verdict});
  }
  bool failed() const;
};

/// kPass where `figure` is at most `bar`.
inline Verdict at_most(double figure, double bar) {
  return figure <= bar ? Verdict::kPass : Verdict::kFail;
}

/// "12.34", and "+1.2 %" or "1.20 %" of a ratio (0.012).
std::string fixed(double value, int digits);
std::string per_cent(double ratio, int digits = 2);
std::string signed_per_cent(double ratio, int digits = 1);

std::string as_text(const Table& table);
std::string as_markdown(const Table& table);

}  // namespace weft::accuracy
