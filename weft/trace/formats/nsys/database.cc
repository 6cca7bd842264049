// SPDX-License-Identifier: Apache-2.0
// open() works in three steps: load() reads the file into one block of memory, attach() gives the
// block to SQLite with all dangerous features switched off, list_tables() notes the plain tables.
// A progress handler (watch()) counts SQLite's instructions, which bounds the time of every query.
#include "weft/trace/formats/nsys/database.h"

#include <sqlite3.h>

#include <cstdlib>
#include <utility>

namespace weft::trace::nsys {
namespace {

constexpr std::size_t kFirstAllocation = 1u << 20;
constexpr std::size_t kPiece = 1u << 20;
/// Instructions of SQLite's virtual machine between two calls of watch().
constexpr int kInstructionsBetweenChecks = 10'000;
/// Reading a row takes about 30 instructions, and a row has at least a few bytes. So an undamaged
/// database stays far below this limit. A query over pages that refer to each other in a cycle
/// exceeds the limit.
constexpr std::int64_t kInstructionsPerByte = 8;
constexpr std::int64_t kInstructionsAtLeast = 2'000'000;
constexpr int kLongestValue = 256 << 20;
constexpr std::size_t kHeaderBytes = 100;

/// Returns a name as an SQL identifier: in double quotes, with double quotes inside the name
/// doubled.
std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    text.push_back(c);
    if (c == '"') text.push_back(c);
  }
  return text + "\"";
}

}  // namespace

void Rows::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Free::operator()(char* memory) const { std::free(memory); }
void Database::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

Result<bool> Rows::next() {
  if (!statement_) return false;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return tl::unexpected(database_->error("table " + table_));
}

std::optional<std::int64_t> Rows::integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Rows::text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<std::unique_ptr<Database>> Database::open(ByteSource& source,
                                                 std::function<bool(std::int64_t)> progress) {
  auto database = std::unique_ptr<Database>(new Database());
  database->name_ = source.name();
  database->progress_ = std::move(progress);
  WEFT_TRY(database->load(source));
  WEFT_TRY(database->attach());
  WEFT_TRY(database->list_tables());
  return database;
}

// For large blocks realloc() remaps pages instead of copying them. So old and new block are not in
// memory at the same time when the block grows.
Status Database::load(ByteSource& source) {
  std::size_t capacity = 0;
  std::size_t size = 0;
  for (;;) {
    if (capacity - size < kPiece) {
      capacity = capacity == 0 ? kFirstAllocation + kPiece : capacity + capacity / 2;
      auto* grown = static_cast<char*>(std::realloc(memory_.get(), capacity));
      if (grown == nullptr) {
        return fail(ErrorCode::kUnavailable,
                    "not enough memory to hold the whole database; export only the tables that "
                    "Weft reads, with nsys export --tables",
                    name_, static_cast<std::int64_t>(size));
      }
      static_cast<void>(memory_.release());
      memory_.reset(grown);
    }
    WEFT_ASSIGN(const std::size_t got, source.read(memory_.get() + size, kPiece));
    if (got == 0) break;
    size += got;
    if (progress_ && !progress_(static_cast<std::int64_t>(size))) {
      return fail(ErrorCode::kCancelled, "interrupted", name_);
    }
  }
  size_ = static_cast<std::int64_t>(size);
  if (source.truncated() || size < kHeaderBytes) {
    return fail(ErrorCode::kBadInput, "the database ends too early; copy the file again", name_,
                size_);
  }
  // Bytes 18 and 19 of the header are the write version and the read version. Version 2 means
  // write-ahead logging: SQLite would look for a second file. So change 2 to 1, which means that
  // there is no second file. The data in this file is readable in both cases.
  for (const std::size_t mode : {18u, 19u}) {
    if (memory_.get()[mode] == 2) memory_.get()[mode] = 1;
  }
  return {};
}

Status Database::attach() {
  sqlite3* connection = nullptr;
  const int opened = sqlite3_open_v2(
      ":memory:", &connection,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  connection_.reset(connection);
  if (opened != SQLITE_OK) return tl::unexpected(error("opening it"));
  // Limits far above what the queries here need, and far below SQLite's defaults.
  const std::pair<int, int> limits[] = {
      {SQLITE_LIMIT_LENGTH, kLongestValue}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 18},
      {SQLITE_LIMIT_COLUMN, 1000},          {SQLITE_LIMIT_EXPR_DEPTH, 50},
      {SQLITE_LIMIT_COMPOUND_SELECT, 4},    {SQLITE_LIMIT_VDBE_OP, 100'000},
      {SQLITE_LIMIT_ATTACHED, 0},           {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
      {SQLITE_LIMIT_WORKER_THREADS, 0}};
  for (const auto& [limit, value] : limits) sqlite3_limit(connection, limit, value);
  const std::pair<int, int> switches[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                          {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                          {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                          {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                          {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
  for (const auto& [option, value] : switches) {
    sqlite3_db_config(connection, option, value, nullptr);
  }
  sqlite3_progress_handler(connection, kInstructionsBetweenChecks, &Database::watch, this);
  const int code =
      sqlite3_deserialize(connection, "main", reinterpret_cast<unsigned char*>(memory_.get()),
                          size_, size_, SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) return tl::unexpected(error("opening it"));
  if (sqlite3_exec(connection, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    return tl::unexpected(error("opening it"));
  }
  return {};
}

// Lists plain tables only: reading a view or a virtual table would execute code that the file
// chooses.
Status Database::list_tables() {
  WEFT_ASSIGN(Rows rows,
              prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'", "sqlite_master"));
  for (;;) {
    WEFT_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    if (rows.text(1).starts_with("CREATE TABLE")) tables_.emplace(rows.text(0));
  }
}

Result<Rows> Database::prepare(const std::string& sql, const std::string& table) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr);
  Rows rows;
  rows.statement_.reset(statement);
  rows.database_ = this;
  rows.table_ = table;
  if (code != SQLITE_OK) return tl::unexpected(error("table " + table));
  return rows;
}

Result<Rows> Database::select(const std::string& table,
                              std::initializer_list<const char*> columns) const {
  if (!has_table(table)) return Rows();
  // table_info does not list computed columns. Selecting one would execute its expression.
  WEFT_ASSIGN(Rows info, prepare("PRAGMA table_info(" + quoted(table) + ")", table));
  std::set<std::string, std::less<>> present;
  for (;;) {
    WEFT_ASSIGN(const bool more, info.next());
    if (!more) break;
    present.emplace(info.text(1));
  }
  // NOT INDEXED makes SQLite read the table front to back: indices of the file are not trusted.
  std::string list;
  for (const char* column : columns) {
    if (!list.empty()) list += ", ";
    list += present.contains(column) ? quoted(column) : "NULL";
  }
  return prepare("SELECT " + list + " FROM " + quoted(table) + " NOT INDEXED", table);
}

Error Database::error(const std::string& where) const {
  if (cancelled_) return {ErrorCode::kCancelled, "interrupted", name_, -1};
  const int code = connection_ ? sqlite3_errcode(connection_.get()) & 0xff : SQLITE_NOMEM;
  if (code == SQLITE_NOMEM) {
    return {ErrorCode::kUnavailable, "not enough memory to read the database", name_, -1};
  }
  if (code == SQLITE_NOTADB) {
    return {ErrorCode::kBadInput,
            "this is not a SQLite database, or it is encrypted or damaged; export it again with "
            "nsys export --type sqlite",
            name_, 0};
  }
  const std::string reason = endless_ ? "its pages form a cycle" : sqlite3_errstr(code);
  return {ErrorCode::kBadInput,
          "the SQLite database is damaged (" + where + ": " + reason +
              "); copy the file again, or export it again with nsys export --type sqlite",
          name_, -1};
}

int Database::watch(void* self) {
  auto& database = *static_cast<Database*>(self);
  database.instructions_ += kInstructionsBetweenChecks;
  database.endless_ =
      database.instructions_ > kInstructionsAtLeast + kInstructionsPerByte * database.size_;
  database.cancelled_ = database.progress_ && !database.progress_(database.size_);
  return database.endless_ || database.cancelled_ ? 1 : 0;
}

}  // namespace weft::trace::nsys
