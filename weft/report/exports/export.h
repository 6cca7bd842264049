// SPDX-License-Identifier: Apache-2.0
// A job in files that other tools read (docs/formats/export.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/sink.h"
#include "weft/predict/job.h"
#include "weft/report/exports/export_progress.h"

namespace weft::report {

struct ExportFormat {
  std::string name;         ///< "perfetto-json"
  std::string extension;    ///< ".json"; a path may add ".gz" to it
  std::string description;  ///< one line
};

const std::vector<ExportFormat>& export_formats();

/// By name, or, if that is empty, by the extension of `path`. Neither: an Error (kUsage) that lists
/// what there is.
Result<ExportFormat> find_format(std::string_view name, const std::string& path);

struct ExportOptions {
  std::string format;  ///< a name of export_formats()
  std::string table;   ///< csv only: a name of table_kinds(); empty means events
  ExportProgress progress;
};

/// What makes no sense is an Error (kUsage); tells it without a job, before anything is read.
Status check_options(const ExportOptions& options);

/// The same job gives the same bytes. Does not close the sink.
Status export_job(const predict::Job& job, const ExportOptions& options, ByteSink& sink);

/// Into a file, packed with gzip if its name ends with .gz. Whole or not at all.
Status export_file(const predict::Job& job, const ExportOptions& options, const std::string& path);

}  // namespace weft::report
