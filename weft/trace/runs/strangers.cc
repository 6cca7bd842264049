// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/strangers.h"

#include <array>

namespace weft::trace {
namespace {

struct Stranger {
  std::string_view magic;
  std::size_t at;
  std::string_view advice;
};

constexpr std::string_view kPacked =
    "this file is packed in a way that Weft does not read; unpack it, or pack it with gzip";

constexpr std::array<Stranger, 7> kStrangers = {{
    {"ustar", 257, "this is a tar archive; unpack it and name the traces that were in it"},
    {"PK\x03\x04", 0, "this is a zip archive; unpack it and name the traces that were in it"},
    {"\x28\xb5\x2f\xfd", 0, kPacked},  // zstd
    {{"\xfd\x37zXZ\0", 6}, 0, kPacked},
    {"BZh", 0, kPacked},
    {"\x04\x22\x4d\x18", 0, kPacked},  // lz4
    {"PAR1", 0, "this is a Parquet table and no trace; name files that a profiler exported"},
}};

}  // namespace

std::string_view known_stranger(std::string_view path, std::string_view head) {
  for (const Stranger& stranger : kStrangers) {
    if (head.size() > stranger.at && head.substr(stranger.at).starts_with(stranger.magic)) {
      return stranger.advice;
    }
  }
  const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
  if (has("\"collective\"") && has("\"rows\"") && has("\"median_us\"")) {
    return "this is a link table and no trace; give it to weft replay with --links";
  }
  if (path.ends_with(".job.json")) {
    return "these are facts about a rank of a job and no trace; name the trace beside them, or "
           "record again if there is none, as nothing was recorded then";
  }
  // The report's own format is not public.
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) {
    return "this is a report of Nsight Systems; nsys export --type sqlite makes a file that Weft "
           "reads";
  }
  return {};
}

}  // namespace weft::trace
