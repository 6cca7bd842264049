// SPDX-License-Identifier: Apache-2.0
// Writes the JSON of `weft info`. docs/reference/cli.md documents its fields. A new field needs no
// new schema_version, but a changed or removed field does.
#include "cli/info/summary.h"
#include "weft/base/json/writer.h"
#include "weft/base/milliseconds.h"
#include "weft/predict/unprofiled.h"

namespace weft::cli {
namespace {

constexpr int kSchemaVersion = 1;

void write_profiler(JsonWriter& json, const trace::ProfilerFacts& facts) {
  json.key("profiler").begin_object();
  json.field("shapes", facts.shapes).field("stacks", facts.stacks);
  json.field("sync_events", facts.sync_events).field("collective_args", facts.collective_args);
  json.field("memory_events", facts.memory_events).field("device_events", facts.device_events);
  json.field("python_events", facts.python_events);
  json.end_object();
}

void write_wire(JsonWriter& json, const WireSummary& wire) {
  json.key("transfers").begin_object();
  json.field("count", wire.transfers).field("connections", wire.connections);
  json.field("sent_bytes", wire.sent).field("received_bytes", wire.received);
  json.key("peers").begin_array();
  for (const PeerSummary& peer : wire.peers) {
    json.begin_object().field("peer", peer.name).field("count", peer.transfers);
    json.field("sent_bytes", peer.sent).field("received_bytes", peer.received).end_object();
  }
  json.end_array().end_object();
}

void write_bystanders(JsonWriter& json, const RunSummary& run) {
  json.key("bystanders").begin_array();
  for (std::size_t i = 0; i < run.bystanders.size(); ++i) {
    const trace::Bystander& bystander = run.run->bystanders[i];
    json.begin_object().field("role", bystander.role).field("host", bystander.host);
    json.field("process", bystander.process).field("file", bystander.file);
    write_wire(json, run.bystanders[i]);
    json.end_object();
  }
  json.end_array();
}

void write_rank(JsonWriter& json, const RankSummary& rank) {
  const trace::RankTrace& trace = *rank.trace;
  json.begin_object();
  json.field("rank", trace.rank).field("file", trace.file).field("format", trace.format);
  json.field("origin", trace.origin);
  json.field("stored_bytes", rank.stored_bytes);
  json.field("host", trace.host).field("process", trace.process);
  json.key("devices").begin_array();
  for (const std::string& device : trace.devices) json.value(device);
  json.end_array();
  json.field("events_in_file", trace.facts.total_events);
  json.field("events", trace.events.size()).field("kernels", rank.kernels);
  json.field("streams", rank.streams);
  json.field("start_unix_ns", rank.start).field("span_ms", milliseconds(rank.span));
  json.key("steps").begin_array();
  for (const StepSummary& step : rank.steps) {
    json.begin_object().field("number", step.number);
    json.field("host_ms", milliseconds(step.host_duration)).end_object();
  }
  json.end_array();
  json.key("collectives").begin_array();
  for (const CollectiveSummary& entry : rank.collectives) {
    json.begin_object().field("name", entry.name).field("count", entry.count);
    json.field("with_size", entry.with_size).field("size_inferred", entry.size_inferred);
    json.end_object();
  }
  json.end_array();
  write_wire(json, rank.wire);
  write_profiler(json, trace.facts);
  json.end_object();
}

}  // namespace

std::string info_json(const std::vector<RunSummary>& runs, const std::vector<Advice>& advice,
                      const Diagnostics& diagnostics) {
  JsonWriter json(2);
  json.begin_object().field("schema_version", kSchemaVersion).field("command", "info");
  json.key("runs").begin_array();
  for (const RunSummary& run : runs) {
    json.begin_object().field("label", run.run->label).field("world", run.run->world);
    json.field("missing_count", run.missing_count);
    json.key("missing_ranks").begin_array();
    for (const std::int64_t rank : run.missing_ranks) json.value(rank);
    json.end_array();
    json.key("unprofiled");
    if (const auto steps = predict::unprofiled_steps(*run.run)) {
      json.begin_object().field("steps", steps->count);
      json.field("median_ms", milliseconds(steps->median));
      json.field("low_ms", milliseconds(steps->low));
      json.field("high_ms", milliseconds(steps->high)).end_object();
    } else {
      json.null();
    }
    json.key("ranks").begin_array();
    for (const RankSummary& rank : run.ranks) write_rank(json, rank);
    json.end_array();
    write_bystanders(json, run);
    json.end_object();
  }
  json.end_array();
  write_diagnostics(json, diagnostics);
  json.key("advice").begin_array();
  for (const Advice& item : advice) {
    json.begin_object().field("id", item.id).field("text", item.text).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace weft::cli
