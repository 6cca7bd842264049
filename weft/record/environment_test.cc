// SPDX-License-Identifier: Apache-2.0
#include "weft/record/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::record {
namespace {

std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  std::string found = "(unset)";
  int times = 0;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(name + "=")) continue;
    found = entry.substr(name.size() + 1);
    ++times;
  }
  EXPECT_LE(times, 1) << name;
  return found;
}

const Parts kParts = {"/weft/_bootstrap", "/lib/wire.so", "/lib/mpi.so", "/lib/nccl.so", "", ""};

const Request kRequest{"/traces", {}, true, false, false, true};

TEST(Steps, RangeAndSingleStep) {
  EXPECT_EQ(parse_steps("10..14"), (Steps{10, 14}));
  EXPECT_EQ(parse_steps("3"), (Steps{3, 3}));
}

TEST(Steps, InvalidRangesAreRefusedWithTheReason) {
  EXPECT_EQ(parse_steps("0..3").error().message,
            "--steps: step 0 cannot be recorded, because its beginning is unknown; record step 1 "
            "or later");
  EXPECT_EQ(parse_steps("5..4").error().message, "--steps: 5..4 ends before it begins");
  for (const char* text : {"", "..", "a..b", "3..", "-1..4", "1...4", "3,4"}) {
    EXPECT_FALSE(parse_steps(text)) << text;
  }
}

TEST(Environment, ConfiguresHooksAndProbes) {
  Request request{"/traces", {3, 4}, true, true, false, true};
  const auto made = recording_environment(request, kParts, {"HOME=/root"});
  EXPECT_EQ(value_of(made, "HOME"), "/root");
  EXPECT_EQ(value_of(made, "WEFT_RECORD"), "/traces");
  EXPECT_EQ(value_of(made, "WEFT_RECORD_STEPS"), "3..4");
  EXPECT_EQ(value_of(made, "WEFT_RECORD_OPTIONS"), "shapes,memory");
  EXPECT_EQ(value_of(made, "WEFT_RECORD_WAIT"), "1");
  EXPECT_EQ(value_of(made, "PYTHONPATH"), "/weft/_bootstrap");
  EXPECT_EQ(value_of(made, "LD_PRELOAD"), "/lib/wire.so");
  EXPECT_EQ(value_of(made, "NCCL_PROFILER_PLUGIN"), "/lib/nccl.so");
  EXPECT_EQ(value_of(made, "HOROVOD_TIMELINE"), "/traces/horovod.json");
}

TEST(Environment, KeepsWhatTheUserSet) {
  const auto made = recording_environment(
      kRequest, kParts,
      {"PYTHONPATH=/mine", "LD_PRELOAD=/my.so", "NCCL_PROFILER_PLUGIN=inspector",
       "WEFT_RECORD=/old", "HOROVOD_TIMELINE=/mine.json"});
  EXPECT_EQ(value_of(made, "PYTHONPATH"), "/weft/_bootstrap:/mine");
  EXPECT_EQ(value_of(made, "LD_PRELOAD"), "/lib/wire.so:/my.so");
  EXPECT_EQ(value_of(made, "NCCL_PROFILER_PLUGIN"), "inspector");
  EXPECT_EQ(value_of(made, "HOROVOD_TIMELINE"), "/mine.json");
  EXPECT_EQ(value_of(made, "WEFT_RECORD"), "/traces");
}

TEST(Environment, MpiProgramsAreRecordedFromTheStart) {
  Request request = kRequest;
  request.mpi = true;
  const auto made = recording_environment(request, kParts, {});
  EXPECT_EQ(value_of(made, "LD_PRELOAD"), "/lib/mpi.so:/lib/wire.so");
  EXPECT_EQ(value_of(made, "WEFT_RECORD_WAIT"), "0");
}

TEST(Environment, LeavesOutPartsThatAreMissingOrNotRequested) {
  Request request = kRequest;
  request.wire = false;
  EXPECT_EQ(value_of(recording_environment(request, kParts, {}), "LD_PRELOAD"), "(unset)");
  const auto bare = recording_environment(kRequest, {}, {});
  EXPECT_EQ(value_of(bare, "LD_PRELOAD"), "(unset)");
  EXPECT_EQ(value_of(bare, "NCCL_PROFILER_PLUGIN"), "(unset)");
}

}  // namespace
}  // namespace weft::record
