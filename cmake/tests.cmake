# One line adds a test: the functions used by tests/CMakeLists.txt.
#
# A test is named after its file: core/tree/tree_test.cpp is the executable
# core_tree_tree_test, and its cases are core/tree/tree_test.Suite.Case; under a
# sanitizer all of them are one test.
#
# Labels say what a test needs, and ./dev test chooses by them:
#   unit, conformance, abi, cli   run in every build
#   house, docs, install          say the same of every build: one is enough
#   topology                      sentinels and clusters: seconds for each case
#   python                        the Python package, in a build that has it
#   node                          the Node.js package, likewise
#   lint                          clang-tidy, which takes the flags of clang
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
include(GoogleTest)
include(python)

# What a program of a sanitized build must be told when it is run: one variable,
# because gtest_discover_tests() does not pass on a list of them.
if(LIMITREE_SANITIZE MATCHES thread)
  set(LIMITREE_TEST_ENVIRONMENT
      TSAN_OPTIONS=allocator_may_return_null=1:second_deadlock_stack=1)
else()
  set(LIMITREE_TEST_ENVIRONMENT
      ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1)
endif()

# What a program that is not sanitized must load before all else if it is to
# load a module that is: the sanitizer, and the C++ library that it looks into.
set(LIMITREE_PRELOAD)
if(LIMITREE_SANITIZE MATCHES address)
  set(libraries libasan.so libstdc++.so)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(libraries libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so libstdc++.so)
  endif()
  foreach(library ${libraries})
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND LIMITREE_PRELOAD "${path} ")
  endforeach()
endif()

function(_limitree_test_target out source)
  string(REGEX REPLACE "\\.[a-z]+$" "" name ${source})
  string(REPLACE "/" "_" target ${name})
  set(${out} ${target} PARENT_SCOPE)
  set(${out}_name ${name} PARENT_SCOPE)
endfunction()

# Half of the time that tests take to compile is the header of googletest, most
# of the rest optimizing what runs once.  The first test of core precompiles the
# header, and the others use it.
function(_limitree_compile_quickly target libs)
  target_compile_options(${target} PRIVATE -O0)
  if(NOT "limitree_core" IN_LIST libs)
    return()  # other definitions, for which the header is not valid
  endif()
  get_property(first GLOBAL PROPERTY LIMITREE_PRECOMPILED_BY)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set_property(GLOBAL PROPERTY LIMITREE_PRECOMPILED_BY ${target})
  target_precompile_headers(
    ${target} PRIVATE <gtest/gtest.h> <chrono> <functional> <memory> <string>
                      <thread> <vector>)
endfunction()

# limitree_test(core/tree/tree_test.cpp [more.cpp ...] [LIBS target ...]
#               [LABELS label ...] [TIMEOUT seconds] [SERIAL])
# SERIAL: beside no other test, because it wants all processors itself.
# GoogleTest over the objects of core.  With LIBS given, those instead.
function(limitree_test source)
  if(LIMITREE_SANITIZE MATCHES thread
     AND source MATCHES "^(core/base|core/tree|cli)/|allocation")
    return()  # one thread does it all, or operator new is the sanitizer's
  endif()
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "LIBS;LABELS" ${ARGN})
  _limitree_test_target(target ${source})
  if(NOT ARG_LIBS)
    set(ARG_LIBS limitree_core)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${target} ${source} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE limitree_flags ${ARG_LIBS}
                                          GTest::gtest_main Threads::Threads)
  _limitree_compile_quickly(${target} "${ARG_LIBS}")
  target_compile_definitions(
    ${target}
    PRIVATE LIMITREE_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
            LIMITREE_CONFORMANCE="${CMAKE_CURRENT_SOURCE_DIR}/conformance")
  if(LIMITREE_SANITIZE OR "conformance" IN_LIST ARG_LABELS)
    # As one test: to start a sanitized program for each case, or to read the
    # vectors, takes longer than what the cases do.
    add_test(NAME ${target_name} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(
      ${target_name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 ENVIRONMENT
                                "${LIMITREE_TEST_ENVIRONMENT}" RUN_SERIAL
                                ${ARG_SERIAL})
    return()
  endif()
  gtest_discover_tests(
    ${target}
    TEST_PREFIX "${target_name}."
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT
               "${LIMITREE_TEST_ENVIRONMENT}" RUN_SERIAL ${ARG_SERIAL})
endfunction()

# limitree_program_test(capi/limitree_test.c [more.c ...] [LIBS target ...]
#                       [LABELS label ...] [ARGS argument ...])
# A program of its own, in C or C++, that passes by returning 0.  It sees no
# more than an installed limitree shows: the shared library, unless LIBS says
# otherwise.
function(limitree_program_test source)
  cmake_parse_arguments(ARG "" "" "LIBS;LABELS;ARGS" ${ARGN})
  _limitree_test_target(target ${source})
  if(NOT ARG_LIBS)
    set(ARG_LIBS limitree)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${target} ${source} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE limitree_flags ${ARG_LIBS}
                                          Threads::Threads)
  if(LIMITREE_SANITIZE)  # what the sanitizers of C++ need, in a C program too
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  add_test(NAME ${target_name} COMMAND ${target} ${ARG_ARGS})
  set_tests_properties(
    ${target_name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 120 ENVIRONMENT
                              "${LIMITREE_TEST_ENVIRONMENT}")
endfunction()

# limitree_python_test(NAME layering ARGS tests/layering.py [...]
#                      [LABELS label ...] [ENVIRONMENT NAME=value ...])
# Runs the Python that was found, in the root of the sources.  Generator
# expressions such as $<TARGET_FILE:limitree> are allowed.
function(limitree_python_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "ARGS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS house)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(
    NAME ${ARG_NAME}
    COMMAND ${Python3_EXECUTABLE} -B ${ARG_ARGS}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(
    ${ARG_NAME}
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT
               "${LIMITREE_TEST_ENVIRONMENT};${ARG_ENVIRONMENT}")
endfunction()

# limitree_pytest(cli/test_check.py [LABELS label ...]
#                 [ENVIRONMENT NAME=value ...])
# One file of pytest functions.
function(limitree_pytest source)
  cmake_parse_arguments(ARG "" "" "LABELS;ENVIRONMENT" ${ARGN})
  _limitree_test_target(target ${source})
  limitree_python_test(
    NAME ${target_name}
    ARGS -m pytest -q -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    LABELS ${ARG_LABELS}
    ENVIRONMENT ${ARG_ENVIRONMENT})
endfunction()
