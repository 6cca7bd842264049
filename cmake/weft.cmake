# Defines the functions that declare a room, its tests and its fuzz targets. The callers list all
# source files by name.

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                            -Wno-sign-conversion)
# Turn off two warnings that are often wrong in g++ 12. It warns of overlapping copies where strings
# are concatenated (GCC bug 105651). It also warns of the uninitialised value in an empty
# std::optional, although the value is only read after a check (GCC bug 80635).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(weft_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
# std::stable_sort of libstdc++ 12 uses a deprecated function of libstdc++. clang warns of this.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(weft_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(WEFT_WERROR)
  target_compile_options(weft_flags INTERFACE -Werror)
endif()
# A wheel may run on a machine whose C++ runtime is older than that of the build machine. So the C++
# runtime is linked statically. libgcc is linked dynamically: old versions of it are good enough,
# and the static libgcc needs glibc 2.35.
if(WEFT_PORTABLE)
  target_link_options(weft_flags INTERFACE -static-libstdc++)
endif()
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE}
                                              -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()

# The folder of the Python package that contains the programs and libraries.
set(WEFT_PACKAGED weft/_native)

# Lets a program or a Python module run with an older glibc, if the build is portable.
function(weft_make_portable target)
  if(WEFT_PORTABLE)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/portable.c)
  endif()
endfunction()

# Compiles the sources of each folder as one unit. They include the same headers and use the same
# templates, so a whole build takes a third of the time. Because of this, names in anonymous
# namespaces must differ within a folder. With -DWEFT_UNITY=OFF every file is compiled alone. This
# must work, too.
function(weft_compile_by_folder target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${target}_${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# Compiles a target with -O1, which takes half the time. This is for code that never runs for long,
# such as tests and the text of a report. With -O1, g++ 12 warns of copies beyond the end of short
# strings. These warnings are wrong (another form of GCC bug 105651), so they are turned off.
function(weft_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endfunction()

# Declares the library of a room. Example: weft_room(trace SOURCES a.cc b.cc ROOMS base PRIVATE
# fmt::fmt)
function(weft_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;PRIVATE" ${ARGN})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  target_include_directories(weft_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  list(TRANSFORM ARG_ROOMS PREPEND weft_)
  target_link_libraries(weft_${name} PUBLIC ${ARG_ROOMS} PRIVATE weft_flags ${ARG_PRIVATE})
  weft_compile_by_folder(weft_${name})
endfunction()

# All tests include GoogleTest and much of the standard library. These headers are compiled once for
# all tests, which saves a third of the time. Every test file still includes the headers that it
# needs, so it also compiles without the precompiled headers.
if(WEFT_TESTS AND WEFT_UNITY)
  add_executable(weft_test_headers ${PROJECT_SOURCE_DIR}/cmake/test_headers.cc)
  target_link_libraries(weft_test_headers PRIVATE weft_flags GTest::gtest)
  weft_compile_quickly(weft_test_headers)
  target_precompile_headers(weft_test_headers PRIVATE
    <gtest/gtest.h> <algorithm> <functional> <map> <memory> <optional> <random> <string> <vector>)
endif()

# Declares the test program of a room. The name of the room becomes the label of its tests.
# Example: weft_test(graph SOURCES text_test.cc ROOMS graph sim)
function(weft_test name)
  if(NOT WEFT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;PRIVATE" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  list(TRANSFORM ARG_ROOMS PREPEND weft_)
  target_compile_definitions(${name}_test PRIVATE WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name}_test PRIVATE ${ARG_ROOMS} weft_flags ${ARG_PRIVATE} GTest::gtest
                                             GTest::gtest_main)
  weft_compile_quickly(${name}_test)
  if(WEFT_UNITY)
    target_precompile_headers(${name}_test REUSE_FROM weft_test_headers)
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name}_test PROPERTIES LABELS ${name} DISCOVERY_TIMEOUT 60)
endfunction()

# This target builds all programs that tools/fuzz.sh runs. Their seeds are in tests/fuzz/<name>/.
if(WEFT_FUZZ)
  add_custom_target(fuzzers)
endif()

# Declares a fuzz target. Example: weft_fuzz(kineto kineto_fuzz.cc ROOMS trace)
function(weft_fuzz name source)
  if(NOT WEFT_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "ROOMS" ${ARGN})
  add_executable(${name}_fuzz ${source})
  list(TRANSFORM ARG_ROOMS PREPEND weft_)
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_ROOMS} weft_flags)
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name}_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                ${PROJECT_BINARY_DIR}/fuzzers)
  add_dependencies(fuzzers ${name}_fuzz)
endfunction()
