// SPDX-License-Identifier: Apache-2.0
// Decodes the Chakra export with protoc, a tool that is independent of Weft. The schema for protoc
// has Chakra's field numbers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "weft/base/file.h"
#include "weft/predict/job.h"
#include "weft/report/exports/chakra.h"

namespace weft::report {
namespace {

namespace fs = std::filesystem;

struct DecodedNode {
  std::uint64_t id = 0;
  std::string type;
  std::vector<std::uint64_t> deps;
  std::map<std::string, std::string> attributes;  ///< name -> "FIELD value", e.g. "bool_val false"
};

/// Inserts a protobuf tag before each length. This turns the stream of delimited messages into one
/// message with repeated fields, which protoc can decode.
std::string as_one_message(const std::string& file) {
  std::string out;
  for (std::size_t at = 0, count = 0; at < file.size(); ++count) {
    std::size_t length = 0, end = at;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(file[end++]);
      length |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    out.push_back(count == 0 ? '\x0a' : '\x12');
    out += file.substr(at, end + length - at);
    at = end + length;
  }
  return out;
}

std::string decode(const std::string& path) {
  const auto bytes = read_file(path);
  EXPECT_TRUE(bytes) << path;
  EXPECT_TRUE(write_file(path + ".message", as_one_message(*bytes)));
  const std::string schema = std::string(WEFT_SOURCE_DIR) + "/tests/data/chakra";
  const std::string command = "protoc --proto_path=" + schema +
                              " --decode=weft.File execution_trace.proto < '" + path +
                              ".message' > '" + path + ".text'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  const auto text = read_file(path + ".text");
  EXPECT_TRUE(text);
  return text ? *text : std::string();
}

std::vector<DecodedNode> parse(const std::string& text) {
  std::vector<DecodedNode> nodes;
  std::istringstream lines(text);
  std::string line, attribute;
  static const std::regex unknown("^ *[0-9]+[:{ ].*");
  static const std::regex field("^ *([a-z0-9_]+): (.*)$");
  while (std::getline(lines, line)) {
    EXPECT_FALSE(std::regex_match(line, unknown)) << "a field that the schema lacks: " << line;
    if (line == "node {") nodes.emplace_back();
    std::smatch match;
    if (nodes.empty() || !std::regex_match(line, match, field)) continue;
    DecodedNode& node = nodes.back();
    const std::string key = match[1], value = match[2];
    const bool nested = line.starts_with("    ");
    if (nested && key == "name") attribute = value.substr(1, value.size() - 2);
    if (nested && key != "name") node.attributes[attribute] = key + " " + value;
    if (!nested && key == "id") node.id = std::stoull(value);
    if (!nested && key == "type") node.type = value;
    if (!nested && key == "data_deps") node.deps.push_back(std::stoull(value));
    EXPECT_NE(key, "ctrl_deps") << "simulators ignore control dependencies";
  }
  return nodes;
}

TEST(ChakraExport, ProtocDecodesItAndAllRanksHaveTheSameCollectives) {
  if (std::system("protoc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "protoc is missing";
  Diagnostics diagnostics;
  const auto job =
      predict::open_job({std::string(WEFT_SOURCE_DIR) + "/examples/resnet50-w4"}, {}, diagnostics);
  ASSERT_TRUE(job) << job.error().text();
  const fs::path folder = fs::path(testing::TempDir()) / "weft-chakra-protoc";
  fs::create_directories(folder);
  ASSERT_TRUE(write_chakra(*job, (folder / "job").string(), diagnostics));
  std::vector<std::vector<std::string>> collectives;
  for (const trace::RankTrace& rank : job->run.ranks) {
    const auto nodes =
        parse(decode((folder / "job.").string() + std::to_string(rank.rank) + ".et"));
    ASSERT_FALSE(nodes.empty());
    std::set<std::uint64_t> earlier;
    collectives.emplace_back();
    for (const DecodedNode& node : nodes) {
      for (const std::uint64_t dep : node.deps) EXPECT_TRUE(earlier.contains(dep)) << node.id;
      EXPECT_TRUE(earlier.insert(node.id).second) << "ids are unique";
      ASSERT_TRUE(node.attributes.contains("is_cpu_op"));
      if (node.type != "COMM_COLL_NODE") {
        EXPECT_EQ(node.type, "COMP_NODE") << "this job sends no messages";
        continue;
      }
      EXPECT_EQ(node.attributes.at("is_cpu_op"), "bool_val false");
      collectives.back().push_back(node.attributes.at("comm_type") + ", " +
                                   node.attributes.at("comm_size") + ", " +
                                   node.attributes.at("pg_name"));
    }
  }
  EXPECT_EQ(collectives[0].size(), 22u);
  for (const auto& of_rank : collectives) EXPECT_EQ(of_rank, collectives[0]);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace weft::report
