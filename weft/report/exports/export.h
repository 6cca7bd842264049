// SPDX-License-Identifier: Apache-2.0
// Exports a job to the file formats of other tools. docs/formats/export.md describes the contents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/sink.h"
#include "weft/predict/job.h"
#include "weft/report/exports/export_progress.h"

namespace weft::report {

struct ExportFormat {
  std::string name;         ///< for example "perfetto-json"
  std::string extension;    ///< ".json"; a path may add ".gz" to it
  std::string description;  ///< description in one line
};

const std::vector<ExportFormat>& export_formats();

/// Finds a format by name or, if `name` is empty, by the extension of `path`. Fails with kUsage if
/// there is no such format; the message lists all formats.
Result<ExportFormat> find_format(std::string_view name, const std::string& path);

struct ExportOptions {
  std::string format;  ///< a name of export_formats()
  std::string table;   ///< csv only: a name of table_kinds(); empty means events
  ExportProgress progress;
};

/// Fails with kUsage if the format or the table does not exist, or if a table is chosen for a
/// format other than csv. This check needs no job, so that a command can fail before it reads a
/// large recording.
Status check_options(const ExportOptions& options);

/// Writes a job to a sink and does not close it. The same job always gives the same bytes. Fails
/// with kCancelled if `progress` returns false.
Status export_job(const predict::Job& job, const ExportOptions& options, ByteSink& sink);

/// Writes a job to a file, compressed with gzip if `path` ends with ".gz". If the export fails, no
/// file appears at `path`.
Status export_file(const predict::Job& job, const ExportOptions& options, const std::string& path);

}  // namespace weft::report
