// SPDX-License-Identifier: Apache-2.0
// The pages' skeleton, style sheet and scripts, as the build bundled them. Private to this room.
#pragma once

#include <string_view>

namespace weft::report {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();
std::string_view links_page_js();
std::string_view plan_page_js();

}  // namespace weft::report
