// SPDX-License-Identifier: Apache-2.0
// Odd but usable input is data, not an exception: each kind of oddity has a name, a severity, a
// sentence that says what Weft did about it and one that tells the user what to change. Occurrences
// are counted and the first few places kept. `--strict` makes any warning or data loss fatal.
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

/// Declared once, next to the code that reports it, as a constexpr.
struct DiagnosticKind {
  const char* id;  ///< kebab-case, stable: users filter on it
  Severity severity;
  const char* what;    ///< what was seen and what Weft did
  const char* advice;  ///< what the user can change
};

struct Diagnostic {
  const DiagnosticKind* kind = nullptr;
  std::int64_t count = 0;
  std::vector<std::string> places;  ///< first three: "file: byte 17", "rank 3, step 5" ...
};

class Diagnostics {
 public:
  static constexpr std::size_t kPlacesKept = 3;

  void add(const DiagnosticKind& kind, std::string place = {}, std::int64_t count = 1);
  /// Adds the counts of `other`. The order of first occurrence is kept. So if diagnostics are
  /// collected per rank and merged in rank order, the list does not depend on the threads.
  void merge(const Diagnostics& other);

  const std::vector<Diagnostic>& all() const { return list_; }
  bool empty() const { return list_.empty(); }
  std::int64_t count_of(const std::string& id) const;
  /// An error naming the first diagnostic worse than kInfo, for --strict.
  Status strict() const;

 private:
  std::vector<Diagnostic> list_;
};

class JsonWriter;
/// Writes the member "diagnostics" of the current object, in the form that all --json outputs use.
void write_diagnostics(JsonWriter& json, const Diagnostics& diagnostics);

}  // namespace weft
