// SPDX-License-Identifier: Apache-2.0
// The tables that Weft can make of a job: events, arrivals at collectives, and steps. All times are
// nanoseconds on the clock that all ranks share, counted from the first event of the job.
// docs/formats/export.md describes the columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/predict/job.h"
#include "weft/report/exports/table.h"

namespace weft::report {

struct TableKind {
  std::string name;         ///< for example "events"
  std::string description;  ///< description in one line
  Table (*make)(const predict::Job& job);
};

const std::vector<TableKind>& table_kinds();

/// Fails with kUsage if there is no such table; the message lists all tables.
Result<const TableKind*> find_table(std::string_view name);
Result<Table> make_table(const predict::Job& job, std::string_view name);

Table event_table(const predict::Job& job);
Table collective_table(const predict::Job& job);
Table step_table(const predict::Job& job);

}  // namespace weft::report
