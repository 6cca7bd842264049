// SPDX-License-Identifier: Apache-2.0
// page.html is a skeleton with markers such as {{title}}. render_page() copies the skeleton and
// replaces each marker. Names in traces are untrusted: a name could contain the end tag of a script
// element. So every value that can contain text of a trace is escaped, according to the place where
// it is inserted.
#include "weft/report/page/html.h"

#include <string_view>

#include "weft/base/check.h"
#include "weft/report/page/web_assets.h"

namespace weft::report {
namespace {

/// Makes JSON safe inside a script element. Inside a script element, a browser reacts only to
/// "</script" and "<!--", so it is enough to escape '<'. In JSON '<' occurs only in strings, where
/// the escape \u003c is allowed.
std::string escape_json(std::string_view json) {
  std::string escaped;
  for (const char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string_view script_of(PageKind kind) {
  switch (kind) {
    case PageKind::kLinks:
      return links_page_js();
    case PageKind::kPlan:
      return plan_page_js();
    case PageKind::kJob:
      break;
  }
  return page_js();
}

std::string value_of(std::string_view marker, const PageData& data) {
  if (marker == "title") return escape_html(data.title);
  if (marker == "style") return std::string(page_css());
  if (marker == "script") return std::string(script_of(data.kind));
  if (marker == "timeline") return data.timeline;
  if (marker == "json") return escape_json(data.json);
  WEFT_CHECK(!"page.html has an unknown marker");
  return {};
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string render_page(const PageData& data) {
  const std::string_view skeleton = page_html();
  std::string page;
  page.reserve(skeleton.size() + page_css().size() + page_js().size() + data.timeline.size() +
               data.json.size());
  for (std::size_t at = 0;;) {
    const std::size_t open = skeleton.find("{{", at);
    page += skeleton.substr(at, open - at);
    if (open == std::string_view::npos) return page;
    const std::size_t close = skeleton.find("}}", open);
    WEFT_CHECK(close != std::string_view::npos);
    page += value_of(skeleton.substr(open + 2, close - open - 2), data);
    at = close + 2;
  }
}

}  // namespace weft::report
