# Writes a C++ source that contains the given files as byte arrays. It writes arrays of numbers,
# because compilers limit the length of string literals.
# Usage: cmake -D OUTPUT=x.cc -D page_html=FILE -D page_css=FILE -D page_js=FILE
#                        -D links_page_js=FILE -D plan_page_js=FILE -P embed.cmake
set(text "// Made by embed.cmake.\n#include \"weft/report/page/web_assets.h\"\n\nnamespace weft::report {\n")
foreach(name page_html page_css page_js links_page_js plan_page_js)
  file(READ ${${name}} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text
         "static const unsigned char ${name}_bytes[] = {\n${bytes}\n0};\n"
         "std::string_view ${name}() {\n"
         "  return {reinterpret_cast<const char*>(${name}_bytes), sizeof ${name}_bytes - 1};\n}\n")
endforeach()
file(WRITE ${OUTPUT} "${text}}  // namespace weft::report\n")
