// SPDX-License-Identifier: Apache-2.0
#include "weft/report/exports/export.h"

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/trace/made_run.h"

namespace weft::report {
namespace {

predict::Job made_job() {
  Diagnostics diagnostics;
  auto job = predict::make_job(trace::made_run({}), diagnostics);
  EXPECT_TRUE(job) << job.error().text();
  return std::move(*job);
}

class FullSink : public ByteSink {
 public:
  Status write(std::string_view) override { return fail(ErrorCode::kIo, "full"); }
  Status close() override { return {}; }
};

std::string format_of(const std::string& name, const std::string& path) {
  const auto format = find_format(name, path);
  return format ? format->name : format.error().text();
}

TEST(Export, FormatComesFromItsNameOrFromTheExtension) {
  EXPECT_EQ(format_of("", "a.json"), "perfetto-json");
  EXPECT_EQ(format_of("", "a.json.gz"), "perfetto-json");
  EXPECT_EQ(format_of("", "a.pftrace.gz"), "perfetto");
  EXPECT_EQ(format_of("", "a.csv"), "csv");
  EXPECT_EQ(format_of("csv", "a.json"), "csv");
  EXPECT_NE(format_of("", "a.gz").find("does not end with the extension of a format"),
            std::string::npos);
  EXPECT_NE(format_of("json", "a").find("perfetto-json, perfetto, csv"), std::string::npos);
}

TEST(Export, OnlyCsvHasTables) {
  EXPECT_TRUE(check_options({"csv", "steps", {}}));
  EXPECT_FALSE(check_options({"csv", "step", {}}));
  EXPECT_FALSE(check_options({"perfetto", "steps", {}}));
}

TEST(Export, BytesDoNotDependOnTheNumberOfThreads) {
  for (const ExportFormat& format : export_formats()) {
    std::string once, again;
    set_max_threads(1);
    ASSERT_TRUE(export_job(made_job(), {format.name, "", {}}, *memory_sink(once)));
    set_max_threads(4);
    ASSERT_TRUE(export_job(made_job(), {format.name, "", {}}, *memory_sink(again)));
    set_max_threads(0);
    EXPECT_FALSE(once.empty());
    EXPECT_TRUE(once == again) << format.name;
  }
}

TEST(Export, FailureOfTheSinkIsReturned) {
  const predict::Job job = made_job();
  for (const ExportFormat& format : export_formats()) {
    FullSink sink;
    const Status status = export_job(job, {format.name, "", {}}, sink);
    ASSERT_FALSE(status) << format.name;
    EXPECT_EQ(status.error().message, "full");
  }
}

TEST(Export, ProgressReachesTheEndAndMayCancel) {
  const predict::Job job = made_job();
  for (const ExportFormat& format : export_formats()) {
    std::string out;
    std::int64_t calls = 0;
    const auto count = [&](std::int64_t done, std::int64_t total) {
      EXPECT_LE(done, total);
      return ++calls > 0;
    };
    EXPECT_TRUE(export_job(job, {format.name, "", count}, *memory_sink(out)));
    EXPECT_GT(calls, 0) << format.name;
    const auto cancel = [](std::int64_t, std::int64_t) { return false; };
    const Status status = export_job(job, {format.name, "", cancel}, *memory_sink(out));
    ASSERT_FALSE(status) << format.name;
    EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace weft::report
