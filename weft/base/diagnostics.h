// SPDX-License-Identifier: Apache-2.0
// Reports input that is odd but usable. Such input does not cause an exception. It is recorded as
// data: each kind of oddity has a name, a severity, a sentence that says what Weft did about it,
// and a sentence that tells the user what to change. All occurrences are counted, and the places of
// the first few are kept. With `--strict`, any warning or data loss ends the command with an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft {

enum class Severity {
  kInfo,      ///< worth knowing, nothing lost
  kWarning,   ///< Weft had to assume something
  kDataLoss,  ///< part of the input could not be used
};

/// The name in results: "info", "warning", "data loss".
constexpr const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kDataLoss:
      return "data loss";
  }
  return "";
}

/// Each kind is declared once, as a constexpr next to the code that reports it.
struct DiagnosticKind {
  const char* id;  ///< in kebab-case; it never changes, because users filter by it
  Severity severity;
  const char* what;    ///< what was seen and what Weft did
  const char* advice;  ///< what the user can change
};

struct Diagnostic {
  const DiagnosticKind* kind = nullptr;
  std::int64_t count = 0;
  std::vector<std::string> places;  ///< the first three, such as "rank 3, step 5"
};

class Diagnostics {
 public:
  static constexpr std::size_t kPlacesKept = 3;

  void add(const DiagnosticKind& kind, std::string place = {}, std::int64_t count = 1);
  /// Adds the counts of `other`. Keeps the kinds in the order in which they first occurred. If the
  /// diagnostics of each rank are collected separately and merged in the order of ranks, the result
  /// does not depend on the number of threads.
  void merge(const Diagnostics& other);

  const std::vector<Diagnostic>& all() const { return list_; }
  bool empty() const { return list_.empty(); }
  std::int64_t count_of(const std::string& id) const;
  /// For --strict: returns an Error that names the first diagnostic that is worse than kInfo, if
  /// any.
  Status strict() const;

 private:
  std::vector<Diagnostic> list_;
};

class JsonWriter;
/// Writes the member "diagnostics" of the current object, in the form that all --json outputs use.
void write_diagnostics(JsonWriter& json, const Diagnostics& diagnostics);

}  // namespace weft
