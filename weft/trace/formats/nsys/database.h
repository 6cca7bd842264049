// SPDX-License-Identifier: Apache-2.0
// Reads a SQLite database from an untrusted source. The database is held in memory and never
// written. Rows are read one table at a time. Nothing in the schema can make SQLite execute
// something: views, triggers, virtual tables and computed columns are not used. Damage leads to an
// Error, even if pages refer to each other in a cycle.
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
  /// nullopt if the table lacks the column, or the value of this row is not an integer.
  std::optional<std::int64_t> integer(int column) const;
  std::int64_t integer(int column, std::int64_t missing) const {
    return integer(column).value_or(missing);
  }
  /// Empty if the table lacks the column, or the value of this row is not a text. The view is valid
  /// until next().
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
  /// Reads all of `source` into memory; this needs as much memory as the uncompressed database.
  /// `progress` is called with the bytes read, while loading and again during queries. It returns
  /// false to cancel.
  static Result<std::unique_ptr<Database>> open(ByteSource& source,
                                                std::function<bool(std::int64_t)> progress);

  bool has_table(const std::string& table) const { return tables_.contains(table); }
  /// Selects the given columns of a table. A column that the table lacks is empty in every row. A
  /// missing table has no rows. These cases are normal, because tables and columns differ between
  /// nsys versions.
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
  std::unique_ptr<sqlite3, Close> connection_;  ///< declared after memory_, which it uses
  std::set<std::string, std::less<>> tables_;
  std::int64_t instructions_ = 0;  ///< number of SQLite instructions executed so far
  bool cancelled_ = false;
  bool endless_ = false;  ///< more instructions than any undamaged database of this size needs
};

}  // namespace weft::trace::nsys
