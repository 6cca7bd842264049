// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/packed/packed.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "weft/trace/formats/packed/same_trace.h"
#include "weft/trace/match/multi_rank_sets.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = WEFT_SOURCE_DIR;
const fs::path kShared = kSource / ".." / "shared" / "traces";

RankTrace back(const RankTrace& trace) {
  Diagnostics diagnostics;
  auto read = unpack(pack(trace), "somewhere.weft", diagnostics);
  EXPECT_TRUE(read) << read.error().text();
  EXPECT_TRUE(diagnostics.empty());
  return read ? std::move(*read) : RankTrace{};
}

/// Packs and unpacks every rank of the inputs and expects equal traces. Returns their formats.
std::set<std::string> expect_lossless(const std::vector<std::string>& inputs) {
  std::set<std::string> formats;
  Diagnostics diagnostics;
  const auto recording = load(inputs, {}, diagnostics);
  EXPECT_TRUE(recording) << recording.error().text();
  if (!recording) return formats;
  for (const Run& run : recording->runs) {
    for (const RankTrace& trace : run.ranks) {
      SCOPED_TRACE(trace.file + ", rank " + std::to_string(trace.rank));
      const RankTrace same = back(trace);
      EXPECT_EQ(difference(same, trace), "");
      EXPECT_EQ(same.origin, trace.file);
      EXPECT_EQ(same.file, "somewhere.weft");
      formats.insert(trace.format);
    }
  }
  return formats;
}

TEST(Packed, SamplesOfEveryReaderRoundTripInAllFields) {
  const fs::path data = kSource / "tests" / "data";
  const fs::path seeds = kSource / "tests" / "fuzz";
  std::set<std::string> formats;
  for (const fs::path& input :
       {kSource / "examples" / "ddp-cpu" / "even", data / "horovod" / "timeline.json.gz",
        data / "mxnet", data / "xplane" / "jax-4dev.xplane.pb.gz",
        data / "xplane" / "tensorflow-cpu.xplane.pb.gz", seeds / "chakra" / "linked.et",
        seeds / "kineto" / "modern.json", seeds / "kineto" / "sync.json",
        seeds / "nccl" / "inspector.jsonl", seeds / "nccl" / "profiler.jsonl",
        seeds / "nsys" / "two_ranks.sqlite", seeds / "straggler" / "two_by_two.json"}) {
    formats.merge(expect_lossless({input.string()}));
  }
  for (const auto& reader : readers()) {
    // A packed file keeps the format of the original.
    if (std::string_view(reader->name()) == "weft") continue;
    EXPECT_TRUE(formats.contains(reader->name())) << reader->name() << " has no sample here";
  }
}

TEST(Packed, RecordedJobsRoundTripInAllFields) {
  const auto sets = multi_rank_sets(kShared.string());
  if (sets.empty()) GTEST_SKIP() << "the shared recordings are not next to this checkout";
  for (const MultiRankSet& set : sets) expect_lossless(set.inputs);
  const fs::path hta = kShared / "facebookresearch_HolisticTraceAnalysis";
  for (const fs::path& input :
       {hta / "df_index_resolver", hta / "nccl_parser_config", hta / "critical_path",
        hta / "amd_trace", kShared / "astra-sim_astra-sim" / "megatron-tp8"}) {
    expect_lossless({input.string()});
  }
}

TEST(Packed, EmptyTablesAndDefaultsRoundTrip) {
  RankTrace trace;
  trace.file = "made";
  trace.lanes.push_back({});
  trace.events.add(EventKind::kOverhead, 0, 0, 0, 0);
  trace.host_ops.resize(3);
  trace.groups.push_back({"tp", "tensor", {}});
  trace.groups.push_back({"dp", "", {0, 8, 16}});
  EXPECT_EQ(difference(back(trace), trace), "");
}

TEST(Packed, TransfersRoundTrip) {
  RankTrace trace;
  trace.lanes.push_back({});
  trace.events.add(EventKind::kOverhead, 0, 0, 0, 0);
  trace.wire.connections = {{"10.0.0.1:4711", "10.0.0.2:22", 1, -1, true}, {"", "", 3, 7, false}};
  for (int i = 0; i < 100; ++i) {
    const auto connection = static_cast<std::uint32_t>(i % 2);
    trace.wire.transfers.push_back(
        {i * 70 - 900, i, 64 << i % 9, i * 4096, connection, i % 3 == 0});
  }
  EXPECT_EQ(difference(back(trace), trace), "");
}

TEST(Packed, TheOriginOfTheOriginalIsKept) {
  RankTrace trace;
  trace.file = "traces/rank3.json.gz";
  trace.lanes.push_back({});
  trace.events.add(EventKind::kOverhead, 0, 0, 0, 0);
  const RankTrace once = back(trace);
  EXPECT_EQ(back(once).origin, "traces/rank3.json.gz");
}

RankTrace small_trace() {
  Diagnostics diagnostics;
  const std::string seed = (kSource / "tests" / "fuzz" / "kineto" / "modern.json").string();
  return std::move(load({seed}, {}, diagnostics)->runs[0].ranks[0]);
}

TEST(Packed, EveryDamagedByteIsDetectedAndItsSectionNamed) {
  const std::string whole = pack(small_trace());
  const auto container = packed::Container::open(whole, "x", packed::Checksums::kVerify);
  ASSERT_TRUE(container);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    Diagnostics diagnostics;
    const auto read = unpack(damaged, "r0.weft", diagnostics);
    ASSERT_FALSE(read) << "byte " << at;
    const std::string message = read.error().text();
    EXPECT_NE(message.find("copy the file again"), std::string::npos) << message;
    for (const auto& entry : container->entries()) {
      const auto first = static_cast<std::size_t>(entry.byte);
      if (at < first || at >= first + entry.stored.size()) continue;
      EXPECT_NE(message.find("\"" + std::string(entry.name) + "\""), std::string::npos) << message;
      EXPECT_EQ(read.error().byte, entry.byte);
    }
  }
}

TEST(Packed, EveryCutFileIsRefused) {
  const std::string whole = pack(small_trace());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Diagnostics diagnostics;
    const auto read = unpack(std::string_view(whole).substr(0, size), "r0.weft", diagnostics);
    ASSERT_FALSE(read) << size;
    EXPECT_NE(read.error().message.find("cut off"), std::string::npos) << read.error().text();
  }
}

std::vector<packed::Section> sections_of(const std::string& bytes) {
  std::vector<packed::Section> sections;
  const auto container = packed::Container::open(bytes, "x", packed::Checksums::kVerify);
  for (const auto& entry : container->entries()) {
    sections.push_back({std::string(entry.name), entry.rows, *container->content(entry)});
  }
  return sections;
}

TEST(Packed, SectionsOfLaterVersionsAreSkipped) {
  const RankTrace trace = small_trace();
  std::vector<packed::Section> sections = sections_of(pack(trace));
  sections.insert(sections.begin(), {"weather.wind", 3, "strong"});
  Diagnostics diagnostics;
  const auto read = unpack(packed::write_container(sections), "x", diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(difference(*read, trace), "");
  EXPECT_EQ(diagnostics.count_of("packed-by-newer"), 1);
  EXPECT_TRUE(diagnostics.strict());
}

TEST(Packed, MissingColumnHasItsDefault) {
  RankTrace trace = small_trace();
  std::vector<packed::Section> sections = sections_of(pack(trace));
  ASSERT_EQ(std::erase_if(sections, [](const auto& s) { return s.name == "lanes.tid"; }), 1u);
  Diagnostics diagnostics;
  const auto read = unpack(packed::write_container(sections), "x", diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  for (Lane& lane : trace.lanes) lane.tid = 0;
  EXPECT_EQ(difference(*read, trace), "");
}

TEST(Packed, ContradictionsAreRefused) {
  const std::vector<packed::Section> sections = sections_of(pack(small_trace()));
  // Remove sections to which others refer, or which are columns of one table.
  for (const char* gone : {"names", "lanes.pid", "events.start", "events.kind", "kernels.shape"}) {
    std::vector<packed::Section> fewer = sections;
    ASSERT_EQ(std::erase_if(fewer, [&](const auto& s) { return s.name == gone; }), 1u) << gone;
    Diagnostics diagnostics;
    const auto read = unpack(packed::write_container(fewer), "x", diagnostics);
    ASSERT_FALSE(read) << gone;
    EXPECT_NE(read.error().message.find("; "), std::string::npos) << read.error().message;
  }
}

TEST(Packed, NewerFormatIsRefusedWithItsNumber) {
  std::string bytes = pack(small_trace());
  bytes[packed::kMagic.size()] = 9;
  Diagnostics diagnostics;
  const auto read = unpack(bytes, "x", diagnostics, packed::Checksums::kIgnore);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("newer Weft (format 9"), std::string::npos);
}

TEST(Packed, AnyNumberOfEqualRowsRoundTrips) {
  // Equal rows compress to almost nothing; this must not look like a file that claims all memory.
  RankTrace trace;
  trace.lanes.push_back({});
  for (int i = 0; i < 3'000'000; ++i) trace.events.add(EventKind::kOverhead, 0, 0, 0, 0);
  const std::string bytes = pack(trace);
  EXPECT_LT(bytes.size(), 10'000u);
  Diagnostics diagnostics;
  const auto read = unpack(bytes, "x", diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->events.size(), 3'000'000u);
}

TEST(Packed, IsTwentyTimesSmallerThanPlainJson) {
  if (!fs::exists(kShared)) GTEST_SKIP() << "the shared recordings are not next to this checkout";
  for (const char* path :
       {"astra-sim_astra-sim/megatron-tp8/megatron_kineto_0.json.gz",
        "h200-nccl/resnet50-w4-r0.json.gz", "meta-pytorch_torchrec/sst_long_a2a_optimizer"}) {
    Diagnostics diagnostics;
    const auto recording = load({(kShared / path).string()}, {}, diagnostics);
    ASSERT_TRUE(recording);
    const RankTrace& trace = recording->runs[0].ranks[0];
    EXPECT_LT(pack(trace).size() * 20, read_file(trace.file)->size()) << path;
  }
}

}  // namespace
}  // namespace weft::trace
