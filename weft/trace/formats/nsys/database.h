// SPDX-License-Identifier: Apache-2.0
// A SQLite database that nobody trusts: held in memory, read only, one table at a time and without
// anything that its schema could make SQLite run (views, triggers, virtual tables, computed
// columns). Damage, endless structures included, ends in an Error.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weft::trace::nsys {

/// The rows of one table, in the order of the file.
class Rows {
 public:
  /// Moves to the next row; false at the end.
  Result<bool> next();
  /// nullopt where the table lacks the column, or the row holds no whole number there.
  std::optional<std::int64_t> integer(int column) const;
  std::int64_t integer(int column, std::int64_t missing) const {
    return integer(column).value_or(missing);
  }
  /// Empty where there is none. Valid until next().
  std::string_view text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const class Database* database_ = nullptr;
  std::string table_;
};

class Database {
 public:
  /// Takes all of `source`: memory is that of the (unpacked) database, once. `progress` gets the
  /// bytes read and is asked again during queries; it returns false to cancel.
  static Result<std::unique_ptr<Database>> open(ByteSource& source,
                                                std::function<bool(std::int64_t)> progress);

  bool has_table(const std::string& table) const { return tables_.contains(table); }
  /// The given columns of a table; those it lacks are empty in every row. A table that is not there
  /// has no rows.
  Result<Rows> select(const std::string& table, std::initializer_list<const char*> columns) const;

  const std::string& name() const { return name_; }
  std::int64_t bytes() const { return size_; }

 private:
  friend class Rows;
  struct Free {
    void operator()(char* memory) const;
  };
  struct Close {
    void operator()(sqlite3* connection) const;
  };

  Status load(ByteSource& source);
  Status attach();
  Status list_tables();
  Result<Rows> prepare(const std::string& sql, const std::string& table) const;
  Error error(const std::string& where) const;
  static int watch(void* self);

  std::string name_;
  std::function<bool(std::int64_t)> progress_;
  std::unique_ptr<char, Free> memory_;
  std::int64_t size_ = 0;
  std::unique_ptr<sqlite3, Close> connection_;  ///< closed before memory_ goes
  std::set<std::string, std::less<>> tables_;
  std::int64_t instructions_ = 0;
  bool cancelled_ = false;
  bool endless_ = false;
};

}  // namespace weft::trace::nsys
