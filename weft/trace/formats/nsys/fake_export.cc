// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/nsys/fake_export.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace weft::trace::nsys {
namespace {

std::string text(const std::string& value) { return "'" + value + "'"; }

/// SQL that adds a string to StringIds if it is new.
std::string intern(const std::string& value) {
  return "INSERT INTO StringIds(value) SELECT " + text(value) +
         " WHERE NOT EXISTS (SELECT 1 FROM StringIds WHERE value = " + text(value) + ");\n";
}

std::string id_of(const std::string& value) {
  return "(SELECT id FROM StringIds WHERE value = " + text(value) + ")";
}

template <class... Values>
std::string list(const Values&... values) {
  std::string all;
  ((all += (all.empty() ? "" : ", ") + std::to_string(values)), ...);
  return all;
}

}  // namespace

std::string fake_database(const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  const std::string all = "PRAGMA page_size = 512; BEGIN; " + sql + "; COMMIT";
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(database, all.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message == nullptr ? "" : message);
  sqlite3_free(message);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database, "main", &size, 0);
  std::string content(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(database);
  return content;
}

std::string fake_tables() {
  const std::string device =
      "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, globalPid INTEGER";
  return "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);\n"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" +
         device +
         ", demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, "
         "blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER);\n"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (" +
         device +
         ", bytes INTEGER, copyKind INTEGER);\n"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (" +
         device +
         ", syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);\n"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, "
         "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventSyncId INTEGER);\n"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
         "correlationId INTEGER, nameId INTEGER);\n"
         "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid "
         "INTEGER, text TEXT, textId INTEGER, jsonText TEXT);\n";
}

std::string fake_kernel(const std::string& name, std::int64_t process, int device, int stream,
                        std::int64_t start, std::int64_t end, int correlation) {
  // The context has the number of the device plus one.
  return intern(name) + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" +
         list(start, end, device, device + 1, stream, correlation, process) + ", " + id_of(name) +
         ", " + id_of(name) + ", 8, 1, 1, 128, 1, 1, NULL);\n";
}

std::string fake_call(const std::string& name, std::int64_t process, std::int64_t start,
                      std::int64_t end, int correlation) {
  return intern(name) + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" +
         list(start, end, process + 7, correlation) + ", " + id_of(name) + ");\n";
}

std::string fake_range(const std::string& name, std::int64_t process, std::int64_t start,
                       std::int64_t end, const std::string& json, int type) {
  return "INSERT INTO NVTX_EVENTS VALUES (" + list(start, end, type, process + 7) + ", " +
         text(name) + ", NULL, " + (json.empty() ? "NULL" : text(json)) + ");\n";
}

std::string fake_job() {
  std::string sql = fake_tables();
  for (const std::int64_t process : {kFirstProcess, kSecondProcess}) {
    const int device = process == kFirstProcess ? 0 : 1;
    for (int step = 0; step < 2; ++step) {
      const std::int64_t at = 1'000'000'000 + step * 1'000'000 + device * 1'000;
      const int call = 10 * step + 1;
      sql +=
          fake_range("step " + std::to_string(step + 5), process, at, at + 900'000) +
          fake_range("aten::mm, seq = 3, op_id = 9, sizes = [[4, 8], [8, 2]]", process, at + 1'000,
                     at + 9'000) +
          fake_call("cudaLaunchKernel_v7000", process, at + 2'000, at + 4'000, call) +
          fake_kernel("gemm", process, device, 7, at + 5'000, at + 300'000, call) +
          fake_call("cudaLaunchKernelExC_v11060", process, at + 12'000, at + 14'000, call + 1) +
          fake_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)", process,
                      device, 20, at + 310'000, 1'000'800'000 + step * 1'000'000, call + 1);
    }
  }
  return sql;
}

}  // namespace weft::trace::nsys
