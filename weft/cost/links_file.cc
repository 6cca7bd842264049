// SPDX-License-Identifier: Apache-2.0
// Reads and writes link tables as JSON (docs/formats/links.md). The reader accepts tables that
// people wrote by hand: rows in any order, every field optional except `collective`, `ranks` and
// the `bytes` and `median_us` of a row. Limits on numbers keep absurd files from overflowing.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "weft/base/file.h"
#include "weft/base/json/document.h"
#include "weft/base/json/writer.h"
#include "weft/cost/links.h"

namespace weft::cost {
namespace {

using graph::CollectiveKind;

constexpr double kMostMicros = 1e12;
constexpr std::int64_t kMostRanks = 1 << 24;
/// The number of bytes that is_links() reads. Everything that identifies a table is within its
/// first row or before it.
constexpr std::size_t kHead = 4096;

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 7> kCollectives = {{
    {"all_reduce", CollectiveKind::kAllReduce},
    {"all_gather", CollectiveKind::kAllGather},
    {"reduce_scatter", CollectiveKind::kReduceScatter},
    {"broadcast", CollectiveKind::kBroadcast},
    {"reduce", CollectiveKind::kReduce},
    {"all_to_all", CollectiveKind::kAllToAll},
    {"send_recv", CollectiveKind::kSendRecv},
}};

tl::unexpected<Error> bad_table(const std::string& name, const std::string& what) {
  return fail(ErrorCode::kBadInput,
              what +
                  "; a link table needs 'collective', 'ranks' and 'rows' with 'bytes' and "
                  "'median_us'",
              name);
}

/// Returns the field `name` in nanoseconds; the file has microseconds. Returns 0 if the field is
/// missing or not plausible.
Nanos optional_time(const JsonValue& row, std::string_view name) {
  const JsonValue* value = row.find(name);
  const double time = value ? value->as_double().value_or(0) : 0;
  return time > 0 && time <= kMostMicros ? std::llround(time * 1e3) : 0;
}

Result<std::vector<LinkRow>> parse_rows(const JsonValue& table, const std::string& name) {
  const JsonValue* rows = table.find("rows");
  if (!rows || !rows->is_array() || rows->items.empty()) {
    return bad_table(name, "'rows' is missing or empty");
  }
  std::vector<LinkRow> parsed;
  for (const JsonValue& item : rows->items) {
    LinkRow row;
    const JsonValue* bytes = item.find("bytes");
    row.bytes = bytes ? bytes->as_int().value_or(0) : 0;
    row.alone = optional_time(item, "median_us");
    if (row.bytes <= 0 || row.alone <= 0) {
      return bad_table(name, "a row lacks a positive 'bytes' or 'median_us'");
    }
    row.shortest = optional_time(item, "min_us");
    row.spread = optional_time(item, "spread_us");
    row.back_to_back = optional_time(item, "back_to_back_us");
    row.two_at_once = optional_time(item, "two_at_once_us");
    if (const JsonValue* calls = item.find("calls")) {
      row.calls = std::max<std::int64_t>(0, calls->as_int().value_or(0));
    }
    // The file does not store this field. It is computed from the other two, so the fields of an
    // edited table cannot contradict each other.
    row.time = expected_time(row.alone, row.back_to_back);
    parsed.push_back(row);
  }
  // LinkTable::time() needs rows that are sorted by size. Tables written by hand may have any
  // order.
  std::sort(parsed.begin(), parsed.end(),
            [](const LinkRow& a, const LinkRow& b) { return a.bytes < b.bytes; });
  return parsed;
}

std::optional<std::int32_t> rank_number(const JsonValue& value, std::string_view name) {
  const JsonValue* found = value.find(name);
  const auto number = found ? found->as_int() : std::nullopt;
  if (!number || *number < 0 || *number > kMostRanks) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

Result<std::vector<LinkPair>> parse_pairs(const JsonValue& table, const std::string& name) {
  std::vector<LinkPair> pairs;
  const JsonValue* list = table.find("pairs");
  if (!list || !list->is_array()) return pairs;  // only tables of messages have pairs
  for (const JsonValue& item : list->items) {
    const auto from = rank_number(item, "from"), to = rank_number(item, "to");
    if (!from || !to) return bad_table(name, "a pair lacks a valid rank 'from' or 'to'");
    LinkPair pair{*from, *to, false, {}};
    if (const JsonValue* same = item.find("same_host"))
      pair.same_host = same->kind == JsonKind::kTrue;
    WEFT_ASSIGN(pair.rows, parse_rows(item, name));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::string text_of(const JsonValue& table, std::string_view name) {
  const JsonValue* value = table.find(name);
  return value && value->is_string() ? value->text : std::string();
}

Result<LinkTable> parse_table(const JsonValue& value, const std::string& name) {
  if (!value.is_object()) return bad_table(name, "this is no link table: it is not a JSON object");
  LinkTable table;
  const JsonValue* collective = value.find("collective");
  if (!collective || !collective->is_string()) return bad_table(name, "'collective' is missing");
  const auto kind = link_collective(collective->text);
  if (!kind) return bad_table(name, "unknown collective '" + collective->text + "'");
  table.collective = *kind;
  const auto ranks = rank_number(value, "ranks");
  if (!ranks || *ranks < 1) return bad_table(name, "'ranks' is missing or not a positive number");
  table.ranks = *ranks;
  table.network = text_of(value, "network");
  table.dtype = text_of(value, "dtype");
  table.backend = text_of(value, "backend");
  table.library = text_of(value, "library");
  table.device = text_of(value, "device");
  table.date = text_of(value, "date");
  if (const JsonValue* hosts = value.find("hosts"); hosts && hosts->is_array()) {
    for (const JsonValue& host : hosts->items) table.hosts.push_back(host.text);
  }
  WEFT_ASSIGN(table.rows, parse_rows(value, name));
  WEFT_ASSIGN(table.pairs, parse_pairs(value, name));
  return table;
}

void write_time(JsonWriter& json, std::string_view name, Nanos time) {
  if (time > 0) json.field(name, static_cast<double>(time) / 1e3);
}

/// Writes each row on a separate line, so that people can read the table.
void write_rows(JsonWriter& json, const std::vector<LinkRow>& rows) {
  json.key("rows").begin_array();
  for (const LinkRow& row : rows) {
    JsonWriter line;
    line.begin_object().field("bytes", row.bytes);
    write_time(line, "median_us", row.alone);
    write_time(line, "min_us", row.shortest);
    write_time(line, "spread_us", row.spread);
    write_time(line, "back_to_back_us", row.back_to_back);
    write_time(line, "two_at_once_us", row.two_at_once);
    if (row.calls > 0) line.field("calls", row.calls);
    json.raw(line.end_object().text());
  }
  json.end_array();
}

void write_text(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.field(name, text);
}

/// Fields that may be long (hosts, pairs) come after the rows: is_links() must find the first row
/// within the first kHead bytes.
void write_table(JsonWriter& json, const LinkTable& table) {
  json.begin_object().field("collective", link_collective_name(table.collective));
  write_text(json, "dtype", table.dtype);
  json.field("ranks", table.ranks);
  write_text(json, "network", table.network);
  write_text(json, "backend", table.backend);
  write_text(json, "library", table.library);
  write_text(json, "device", table.device);
  write_text(json, "date", table.date);
  write_rows(json, table.rows);
  if (!table.hosts.empty()) {
    json.key("hosts").begin_array();
    for (const std::string& host : table.hosts) json.value(host);
    json.end_array();
  }
  if (!table.pairs.empty()) {
    json.key("pairs").begin_array();
    for (const LinkPair& pair : table.pairs) {
      json.begin_object().field("from", pair.from).field("to", pair.to);
      json.field("same_host", pair.same_host);
      write_rows(json, pair.rows);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

}  // namespace

std::optional<CollectiveKind> link_collective(std::string_view name) {
  for (const auto& [known, kind] : kCollectives) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::string_view link_collective_name(CollectiveKind kind) {
  for (const auto& [name, known] : kCollectives) {
    if (known == kind) return name;
  }
  return {};
}

Result<std::vector<LinkTable>> parse_links(std::string_view text, const std::string& name) {
  WEFT_ASSIGN(const JsonValue document, parse_json(text, name));
  std::vector<LinkTable> tables;
  if (document.is_array()) {
    for (const JsonValue& item : document.items) {
      WEFT_ASSIGN(LinkTable table, parse_table(item, name));
      tables.push_back(std::move(table));
    }
    if (tables.empty()) return bad_table(name, "the list of tables is empty");
  } else {
    WEFT_ASSIGN(LinkTable table, parse_table(document, name));
    tables.push_back(std::move(table));
  }
  return tables;
}

Result<std::vector<LinkTable>> read_links(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  return parse_links(text, path);
}

Result<std::vector<LinkTable>> read_links(const std::vector<std::string>& paths) {
  std::vector<LinkTable> all;
  for (const std::string& path : paths) {
    WEFT_ASSIGN(std::vector<LinkTable> tables, read_links(path));
    for (LinkTable& table : tables) all.push_back(std::move(table));
  }
  return all;
}

bool is_links(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const auto source = open_file(path);
  const auto head = source ? read_up_to(**source, kHead) : Result<std::string>();
  const auto has = [&](const char* key) { return head->find(key) != std::string::npos; };
  return head && has("\"collective\"") && has("\"rows\"") && has("\"median_us\"");
}

std::string write_links(const std::vector<LinkTable>& tables) {
  JsonWriter json(1);
  json.begin_array();
  for (const LinkTable& table : tables) write_table(json, table);
  json.end_array();
  return json.take() + "\n";
}

}  // namespace weft::cost
