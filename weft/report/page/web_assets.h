// SPDX-License-Identifier: Apache-2.0
// The skeleton, style sheet and scripts of the pages. The build bundles these files and embeds them
// in the library (embed.cmake), so that the command needs no files beside its executable. Only
// files of this folder include this header.
#pragma once

#include <string_view>

namespace weft::report {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();
std::string_view links_page_js();
std::string_view plan_page_js();

}  // namespace weft::report
