// SPDX-License-Identifier: Apache-2.0
#include "weft/base/diagnostics.h"

#include <algorithm>
#include <string_view>

#include "weft/base/json/writer.h"

namespace weft {
namespace {

// Two kinds are equal if their ids are equal. Comparing addresses is not enough, because two
// translation units may each have a copy of a kind.
Diagnostic& entry_for(std::vector<Diagnostic>& list, const DiagnosticKind& kind) {
  auto found = std::find_if(list.begin(), list.end(), [&](const Diagnostic& d) {
    return d.kind == &kind || std::string_view(d.kind->id) == kind.id;
  });
  if (found != list.end()) return *found;
  list.push_back({&kind, 0, {}});
  return list.back();
}

}  // namespace

// A count of 0 adds nothing, so callers need not check for 0.
void Diagnostics::add(const DiagnosticKind& kind, std::string place, std::int64_t count) {
  if (count <= 0) return;
  Diagnostic& entry = entry_for(list_, kind);
  entry.count += count;
  if (!place.empty() && entry.places.size() < kPlacesKept) entry.places.push_back(std::move(place));
}

void Diagnostics::merge(const Diagnostics& other) {
  for (const Diagnostic& theirs : other.list_) {
    Diagnostic& ours = entry_for(list_, *theirs.kind);
    ours.count += theirs.count;
    for (const std::string& place : theirs.places) {
      if (ours.places.size() < kPlacesKept) ours.places.push_back(place);
    }
  }
}

std::int64_t Diagnostics::count_of(const std::string& id) const {
  for (const Diagnostic& d : list_) {
    if (id == d.kind->id) return d.count;
  }
  return 0;
}

// Reports only the first problem: an Error is one sentence, and --strict stops at the first
// problem.
Status Diagnostics::strict() const {
  for (const Diagnostic& d : list_) {
    if (d.kind->severity == Severity::kInfo) continue;
    std::string message = std::string(d.kind->id) + ": " + d.kind->what;
    if (d.count > 1) message += " (" + std::to_string(d.count) + " times)";
    if (!d.places.empty()) message += " [" + d.places.front() + "]";
    return fail(ErrorCode::kBadInput, message + ". " + d.kind->advice);
  }
  return {};
}

void write_diagnostics(JsonWriter& json, const Diagnostics& diagnostics) {
  json.key("diagnostics").begin_array();
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    json.begin_object().field("id", diagnostic.kind->id);
    json.field("severity", severity_name(diagnostic.kind->severity));
    json.field("count", diagnostic.count).field("what", diagnostic.kind->what);
    json.field("advice", diagnostic.kind->advice);
    json.key("places").begin_array();
    for (const std::string& place : diagnostic.places) json.value(place);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace weft
