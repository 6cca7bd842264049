// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/kept.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"

namespace weft::pipeline::recorded {
namespace {

struct Forwards {
  trace::MadeRank rank{0, 1};
  std::vector<LayerCall> calls;

  void call(std::size_t layer, std::size_t pass, Nanos start) {
    calls.push_back({rank.annotation("nn.Module: Layer", start, 100), layer, pass});
  }
  void memory(Nanos at, Bytes bytes, std::uint64_t address, std::int32_t device = 0) {
    const std::uint32_t event = rank.add(trace::EventKind::kMemory, "[memory]", at, 0);
    rank.trace.events.detail[event] = static_cast<std::uint32_t>(rank.trace.memory.size());
    rank.trace.memory.push_back({bytes, address, -1, -1, device});
  }
  std::optional<std::vector<Bytes>> kept() const { return kept_bytes(rank.trace, calls, 2); }
};

TEST(KeptBytes, AreAllocatedInAForwardAndOutliveThePass) {
  Forwards made;
  for (std::size_t pass = 0; pass < 2; ++pass) {
    const auto at = static_cast<Nanos>(1000 * pass);
    made.call(0, pass, at);
    made.call(1, pass, at + 100);
    made.memory(at + 10, 4096, 1);  // an output that the next layer keeps until its backward
    made.memory(at + 20, 512, 2);   // freed at once
    made.memory(at + 30, -512, 2);
    made.memory(at + 40, 256, 2);  // the same address, freed while the next layer runs
    made.memory(at + 120, -256, 2);
    made.memory(at + 130, 1024, 3);      // kept by the second layer
    made.memory(at + 140, 9999, 7, -1);  // memory of the host, which does not count
    made.memory(at + 500, -1024, 3);     // backward
    made.memory(at + 510, 77, 4);        // gradients
    made.memory(at + 520, -4096, 1);
  }
  EXPECT_EQ(made.kept(), (std::vector<Bytes>{2 * 4096, 2 * 1024}));
}

TEST(KeptBytes, AreUnknownWithoutAllocations) {
  Forwards made;
  made.call(0, 0, 0);
  EXPECT_EQ(made.kept(), std::nullopt);
}

}  // namespace
}  // namespace weft::pipeline::recorded
