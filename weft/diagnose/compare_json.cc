// SPDX-License-Identifier: Apache-2.0
// Writes the JSON of `weft diff`. docs/reference/cli.md documents its fields. New fields may be
// added at any time. If a field is changed or removed, schema_version must be increased.
#include "weft/base/json/writer.h"
#include "weft/base/milliseconds.h"
#include "weft/diagnose/compare.h"

namespace weft::diagnose {
namespace {

constexpr int kComparisonSchema = 1;

void write_side(JsonWriter& json, const char* name, const std::string& label, std::size_t ranks,
                Nanos step) {
  json.key(name).begin_object().field("label", label).field("ranks", ranks);
  json.field("step_ms", milliseconds(step)).end_object();
}

void write_ops(JsonWriter& json, const char* name, const std::vector<OpChange>& ops) {
  json.key(name).begin_array();
  for (const OpChange& op : ops) {
    json.begin_object().field("name", op.name).field("kind", op.kind);
    json.field("before_ms", milliseconds(op.before)).field("after_ms", milliseconds(op.after));
    json.field("change_ms", milliseconds(op.change()));
    json.field("count_before", op.count_before).field("count_after", op.count_after).end_object();
  }
  json.end_array();
}

}  // namespace

std::string comparison_json(const Comparison& comparison, std::optional<double> limit,
                            const Diagnostics& diagnostics) {
  JsonWriter json;
  json.begin_object().field("schema_version", kComparisonSchema).field("command", "diff");
  write_side(json, "before", comparison.before_label, comparison.before_ranks,
             comparison.before_step);
  write_side(json, "after", comparison.after_label, comparison.after_ranks, comparison.after_step);
  json.field("change", comparison.change());
  json.field("change_ms", milliseconds(comparison.after_step - comparison.before_step));
  json.field("noise_ms", milliseconds(comparison.noise));
  json.field("without_profiler", comparison.predicted);
  json.key("causes").begin_array();
  for (const CauseChange& cause : comparison.causes) {
    json.begin_object().field("name", cause.name);
    json.field("before_ms", milliseconds(cause.before));
    json.field("after_ms", milliseconds(cause.after));
    json.field("change_ms", milliseconds(cause.after - cause.before)).end_object();
  }
  json.end_array();
  write_ops(json, "ops", comparison.ops);
  write_ops(json, "missing", comparison.missing);
  write_ops(json, "new", comparison.added);
  json.key("fail_above");
  limit ? json.value(*limit) : json.null();
  json.field("failed", limit && comparison.exceeds(*limit));
  write_diagnostics(json, diagnostics);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace weft::diagnose
