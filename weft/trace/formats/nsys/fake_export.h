// SPDX-License-Identifier: Apache-2.0
// For tests: builds small exports of Nsight Systems from SQL. The tables have the columns that Weft
// reads.
#pragma once

#include <cstdint>
#include <string>

namespace weft::trace::nsys {

constexpr std::int64_t kFirstProcess = 0x1000064000000;   ///< global id of pid 100
constexpr std::int64_t kSecondProcess = 0x1000065000000;  ///< global id of pid 101

/// Executes `sql` and returns the bytes of the resulting database, which has pages of 512 bytes.
/// Fails the test on bad SQL.
std::string fake_database(const std::string& sql);

/// Returns SQL that creates empty tables with the columns of a current nsys.
std::string fake_tables();
/// Return INSERT statements for one row. They add new names to StringIds. `process` is a global id.
std::string fake_kernel(const std::string& name, std::int64_t process, int device, int stream,
                        std::int64_t start, std::int64_t end, int correlation);
std::string fake_call(const std::string& name, std::int64_t process, std::int64_t start,
                      std::int64_t end, int correlation);
std::string fake_range(const std::string& text, std::int64_t process, std::int64_t start,
                       std::int64_t end, const std::string& json = "", int type = 59);
/// Returns SQL for a job of two processes with one GPU each. In each of two steps every process has
/// one operator with its call and kernel, and the two processes take part in one all-reduce.
std::string fake_job();

}  // namespace weft::trace::nsys
