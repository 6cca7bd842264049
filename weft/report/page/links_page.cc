// SPDX-License-Identifier: Apache-2.0
#include "weft/report/page/links_page.h"

#include <fmt/format.h>

#include <set>

#include "weft/base/json/writer.h"
#include "weft/diagnose/diagnosis.h"
#include "weft/report/page/html.h"

namespace weft::report {
namespace {

// The structs LinkRow, LinkPair and LinkTable of web/link_data.ts describe what these functions
// write.

void write_rows(JsonWriter& json, const std::vector<cost::LinkRow>& rows) {
  json.key("rows").begin_array();
  for (const cost::LinkRow& row : rows) {
    json.begin_object().field("bytes", row.bytes).field("time", row.time);
    json.field("alone", row.alone);
    json.field("shortest", row.shortest).field("spread", row.spread);
    json.field("back_to_back", row.back_to_back).field("two_at_once", row.two_at_once);
    json.field("calls", row.calls).end_object();
  }
  json.end_array();
}

void write_table(JsonWriter& json, const cost::LinkTable& table) {
  // A table may lack the list of hosts. In this case, the host name is empty.
  const auto host = [&](std::int32_t rank) {
    const auto index = static_cast<std::size_t>(rank);
    return index < table.hosts.size() ? table.hosts[index] : std::string();
  };
  json.begin_object().field("collective", cost::link_collective_name(table.collective));
  json.field("ranks", table.ranks).field("dtype", table.dtype);
  write_rows(json, table.rows);
  json.key("pairs").begin_array();
  for (const cost::LinkPair& pair : table.pairs) {
    json.begin_object().field("from", pair.from).field("to", pair.to);
    json.field("from_host", host(pair.from)).field("to_host", host(pair.to));
    json.field("same_host", pair.same_host);
    write_rows(json, pair.rows);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_command(JsonWriter& json, const std::string& command, const char* what) {
  json.begin_object().field("command", command).field("what", what).end_object();
}

}  // namespace

// The tables may come from different machines, but the page shows the facts of the first table
// only. Each curve has a label with its collective and its number of ranks.

std::vector<std::string> link_facts(const cost::LinkTable& table) {
  std::vector<std::string> facts{table.network};
  if (!table.hosts.empty()) {
    const std::set<std::string> hosts(table.hosts.begin(), table.hosts.end());
    facts.push_back(fmt::format("{} ranks on {} host{}", table.hosts.size(), hosts.size(),
                                hosts.size() == 1 ? "" : "s"));
  }
  for (const std::string& fact : {table.backend, table.library, table.device, table.date}) {
    facts.push_back(fact);
  }
  std::erase(facts, "");
  return facts;
}

std::string make_links_page(const std::vector<cost::LinkTable>& tables,
                            const std::vector<std::string>& files, const std::string& version) {
  std::string inputs, links;
  for (const std::string& file : files) {
    inputs += " " + diagnose::shell_word(file);
    links += " --links " + diagnose::shell_word(file);
  }
  JsonWriter json;
  json.begin_object().field("version", version);
  json.field("file", fmt::format("{}", fmt::join(files, ", ")));
  json.key("facts").begin_array();
  for (const std::string& fact : link_facts(tables.front())) json.value(fact);
  json.end_array();
  json.key("tables").begin_array();
  for (const cost::LinkTable& table : tables) write_table(json, table);
  json.end_array();
  json.key("commands").begin_array();
  write_command(json, "weft replay traces/" + links, "predict the step of a job with these times");
  write_command(json, "weft info" + inputs, "these tables as a few lines of text");
  write_command(json, "weft report" + inputs + " -o links.html", "this page");
  json.end_array().end_object();
  return render_page({"Weft link tables: " + files.front(), "", json.take(), PageKind::kLinks});
}

}  // namespace weft::report
