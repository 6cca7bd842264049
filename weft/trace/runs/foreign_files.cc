// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/foreign_files.h"

#include <array>

namespace weft::trace {
namespace {

struct ForeignFile {
  std::string_view magic;
  std::size_t at;
  std::string_view advice;
};

constexpr std::string_view kPacked =
    "this file is compressed in a format that Weft does not read; unpack it, or compress it with "
    "gzip";

constexpr std::array<ForeignFile, 7> kForeignFiles = {{
    {"ustar", 257, "this is a tar archive; unpack it and name the traces that were in it"},
    {"PK\x03\x04", 0, "this is a zip archive; unpack it and name the traces that were in it"},
    {"\x28\xb5\x2f\xfd", 0, kPacked},  // zstd
    {{"\xfd\x37zXZ\0", 6}, 0, kPacked},
    {"BZh", 0, kPacked},
    {"\x04\x22\x4d\x18", 0, kPacked},  // lz4
    {"PAR1", 0, "this is a Parquet table and not a trace; name files that a profiler exported"},
}};

}  // namespace

std::string_view advice_on_foreign_file(std::string_view path, std::string_view head) {
  for (const ForeignFile& foreign : kForeignFiles) {
    if (head.size() > foreign.at && head.substr(foreign.at).starts_with(foreign.magic)) {
      return foreign.advice;
    }
  }
  const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
  if (has("\"collective\"") && has("\"rows\"") && has("\"median_us\"")) {
    return "this is a link table and not a trace; pass it to weft replay with --links, or name "
           "its file for weft info and weft report, which read no tables from standard input";
  }
  if (has("\"pipeline_plan_version\"")) {
    return "this is a plan of weft pipeline and not a trace; check it with weft verify, or name "
           "its file for weft report, which reads no plans from standard input";
  }
  if (has("\"plan_version\"")) {
    return "this is a plan and not a trace; pass it to weft replay with --plan, or name its file "
           "for weft diff, which reads no plans from standard input";
  }
  if (path.ends_with(".job.json")) {
    return "this file holds facts about a rank and is not a trace; name the trace in the same "
           "folder, or record again if there is none";
  }
  // The format of these reports is not public, so Weft cannot read them itself.
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) {
    return "this is a report of Nsight Systems; convert it with nsys export --type sqlite";
  }
  return {};
}

}  // namespace weft::trace
