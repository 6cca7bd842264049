// SPDX-License-Identifier: Apache-2.0
// Lists the export formats and calls the writer of the selected format. The csv writer writes a
// table. The writers of the two Perfetto formats write the same Tracks. Chakra is not in the list,
// because a Chakra export has several files per job: see write_chakra().
#include "weft/report/exports/export.h"

#include "weft/report/exports/perfetto.h"
#include "weft/report/exports/perfetto_json.h"
#include "weft/report/exports/table.h"
#include "weft/report/exports/tables.h"
#include "weft/report/exports/tracks.h"

namespace weft::report {
namespace {

constexpr std::string_view kPacked = ".gz";
constexpr const char* kDefaultTable = "events";

std::string known_formats() {
  std::string list;
  for (const ExportFormat& format : export_formats()) {
    list += (list.empty() ? "" : ", ") + format.name;
  }
  return list;
}

const std::string& table_of(const ExportOptions& options) {
  static const std::string events = kDefaultTable;
  return options.table.empty() ? events : options.table;
}

}  // namespace

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> formats = {
      {"perfetto-json", ".json", "timeline for Perfetto, chrome://tracing and others, as JSON"},
      {"perfetto", ".pftrace", "timeline for Perfetto in its own format: smaller, opens faster"},
      {"csv", ".csv", "a table: events, collectives or steps"}};
  return formats;
}

Result<ExportFormat> find_format(std::string_view name, const std::string& path) {
  // "trace.csv.gz" has the format of "trace.csv".
  std::string_view stem = path;
  if (stem.ends_with(kPacked)) stem.remove_suffix(kPacked.size());
  for (const ExportFormat& format : export_formats()) {
    if (name.empty() ? stem.ends_with(format.extension) : name == format.name) return format;
  }
  if (name.empty()) {
    return fail(
        ErrorCode::kUsage,
        "the name of the output file does not end with the extension of a format; name the format "
        "(one of: " +
            known_formats() + ")",
        path);
  }
  return fail(ErrorCode::kUsage,
              "there is no format '" + std::string(name) + "' (formats: " + known_formats() + ")");
}

Status check_options(const ExportOptions& options) {
  WEFT_TRY(find_format(options.format, ""));
  if (options.format == "csv") return find_table(table_of(options)).map([](const TableKind*) {});
  if (!options.table.empty()) {
    return fail(ErrorCode::kUsage, "a table can be chosen for the format csv only, not for " +
                                       options.format + "; leave the table out or choose csv");
  }
  return {};
}

Status export_job(const predict::Job& job, const ExportOptions& options, ByteSink& sink) {
  WEFT_TRY(check_options(options));
  if (options.format == "csv") {
    // Tables need no critical path, which is the most expensive part of a timeline.
    WEFT_ASSIGN(const Table table, make_table(job, table_of(options)));
    return write_csv(table, sink, options.progress);
  }
  const Tracks tracks = make_tracks(job, diagnose::find_critical_path(job));
  return options.format == "perfetto" ? write_perfetto(tracks, sink, options.progress)
                                      : write_perfetto_json(tracks, sink, options.progress);
}

Status export_file(const predict::Job& job, const ExportOptions& options, const std::string& path) {
  WEFT_ASSIGN(std::unique_ptr<ByteSink> sink, create_file(path));
  if (path.ends_with(kPacked)) sink = gzip_sink(std::move(sink));
  WEFT_TRY(export_job(job, options, *sink));
  return sink->close();
}

}  // namespace weft::report
