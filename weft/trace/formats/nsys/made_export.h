// SPDX-License-Identifier: Apache-2.0
// Small exports for tests, written as SQL: the tables of Nsight Systems, with the columns that Weft
// reads. Tests only.
#pragma once

#include <cstdint>
#include <string>

namespace weft::trace::nsys {

constexpr std::int64_t kFirstProcess = 0x1000064000000;   ///< of pid 100
constexpr std::int64_t kSecondProcess = 0x1000065000000;  ///< of pid 101

/// The database that `sql` leaves behind, pages of 512 bytes. Fails the test on bad SQL.
std::string made_database(const std::string& sql);

/// Empty tables as a current nsys makes them.
std::string made_tables();
/// INSERT statements. Names are put into StringIds as they come; `process` is a global id.
std::string made_kernel(const std::string& name, std::int64_t process, int device, int stream,
                        std::int64_t start, std::int64_t end, int correlation);
std::string made_call(const std::string& name, std::int64_t process, std::int64_t start,
                      std::int64_t end, int correlation);
std::string made_range(const std::string& text, std::int64_t process, std::int64_t start,
                       std::int64_t end, const std::string& json = "", int type = 59);
/// Two processes, a GPU each: one operator, its call and kernel, and an all-reduce of both, in each
/// of two steps.
std::string made_job();

}  // namespace weft::trace::nsys
