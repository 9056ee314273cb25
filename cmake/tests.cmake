# The functions used by tests/CMakeLists.txt.
#
# Each folder of tests is one program, and each suite in it is one test of
# ctest.  For example, core/tree/tree_test.cpp is in the program core_tree_test,
# and its cases, such as Match.Wildcard, are in the test core/tree.Match.
#
# ./dev test chooses tests by their labels:
#   unit, conformance, abi, cli   run in every build
#   server                        the parts of `limitree serve`, in every build
#   clients                       its clients, in a build with Python
#   lint, docs, install           have the same result in every build: run once
#   topology                      sentinels and clusters: seconds for each case
#   python                        the Python package, in a build that has it
#   node                          the Node.js package, in a build that has it
#   pages                         pages in Chromium, in a build with Python
#   tidy                          clang-tidy, which takes the flags of clang
#   slow                          beside another label: only by ./dev test all
#   rare                          the same: only by ./dev test rare, to release
#
# It starts tests for three times as many processors as there are, with a
# sanitizer for twice as many.  Most tests keep one busy for half of their time,
# so they count as two, and those that mostly wait as one.  Suites of remote
# stores wait, too, but have deadlines, which many that start together miss: one
# of each program runs at a time.  The longest have a COST, so that they start
# first, also where no earlier run has left its times.
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
include(python)

# How Python runs pytest.  To load the plugins of anyio, Faker and hypothesis,
# which no test uses, would take each file more than a second of a processor.
set(LIMITREE_PYTEST -m pytest -q -p no:cacheprovider -p no:anyio -p no:faker
                    -p no:hypothesispytest)

# The environment of sanitized programs.
if(LIMITREE_SANITIZE MATCHES thread)
  set(LIMITREE_TEST_ENVIRONMENT
      TSAN_OPTIONS=allocator_may_return_null=1:second_deadlock_stack=1)
else()
  set(LIMITREE_TEST_ENVIRONMENT
      ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1)
endif()

# The libraries that a program without sanitizer must load first, before it can
# load a sanitized module: the sanitizer, and the C++ library that it inspects.
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

# Half of the time to compile tests goes into the header of googletest, most of
# the rest into headers of core and into optimizing code that runs once.  The
# first program of core precompiles the header, and other programs of core use
# it; so do those of the server with the macros of hiredis.  For the few files
# of another program that would save nothing.  Several are compiled as one.
function(_limitree_compile_quickly target libs)
  target_compile_options(${target} PRIVATE -O0)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                                             UNITY_BUILD_BATCH_SIZE 10)
  if("limitree_core" IN_LIST libs)
    set(group core)
  elseif(libs STREQUAL "limitree_server;limitree_redis_server")
    set(group server)
  else()
    return()
  endif()
  get_property(first GLOBAL PROPERTY LIMITREE_PRECOMPILED_FOR_${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set_property(GLOBAL PROPERTY LIMITREE_PRECOMPILED_FOR_${group} ${target})
  target_precompile_headers(
    ${target} PRIVATE <gtest/gtest.h> <chrono> <functional> <memory> <string>
                      <thread> <vector>)
endfunction()

# limitree_test(core/tree/no_psl_test.cpp [more.cpp ...] [LIBS target ...]
#               [LABEL label] [SERIAL] [COUNTS_NEW] [WAITS])
# A separate GoogleTest program, linked with the objects of core, or with LIBS
# if given.  SERIAL: does not run in parallel with other tests, because it needs
# all processors.  COUNTS_NEW: has its own operator new, which ThreadSanitizer
# does not allow.  WAITS: mostly.
function(limitree_test source)
  set_property(GLOBAL APPEND PROPERTY LIMITREE_APART ${source})
  if("COUNTS_NEW" IN_LIST ARGN AND LIMITREE_SANITIZE MATCHES thread)
    return()
  endif()
  _limitree_test_target(target ${source})
  _limitree_gtest(${target} ${target_name} SOURCES ${source} ${ARGN})
endfunction()

# limitree_tests(core/tree [more.cpp ...] [LIBS target ...] [LABEL label]
#                [WAITS])
# One program of all *_test.cpp in a folder, except those that earlier calls
# have made separate programs.
function(limitree_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS
       RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${folder}/*_test.cpp)
  get_property(apart GLOBAL PROPERTY LIMITREE_APART)
  list(REMOVE_ITEM sources ${apart})
  string(REPLACE "/" "_" target ${folder}_test)
  _limitree_gtest(${target} ${folder} SOURCES ${sources} ${ARGN})
endfunction()

# The time limit of a suite, for the slowest one in a sanitized build.
set(LIMITREE_SUITE_TIMEOUT 300)
if(LIMITREE_SANITIZE)
  set(LIMITREE_SUITE_TIMEOUT 600)
endif()

function(_limitree_gtest target name)
  cmake_parse_arguments(ARG "SERIAL;COUNTS_NEW;WAITS" "LABEL" "SOURCES;LIBS"
                        ${ARGN})
  set(weight PROCESSORS 2 COST 0)
  if(ARG_WAITS)
    set(weight PROCESSORS 1 COST 10 RESOURCE_LOCK ${target})
  endif()
  if(NOT ARG_LIBS)
    set(ARG_LIBS limitree_core)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_executable(${target} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE limitree_flags ${ARG_LIBS}
                                          GTest::gtest_main Threads::Threads)
  _limitree_compile_quickly(${target} "${ARG_LIBS}")
  target_compile_definitions(
    ${target}
    PRIVATE LIMITREE_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
            LIMITREE_CONFORMANCE="${CMAKE_CURRENT_SOURCE_DIR}/conformance")
  set(tests ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  set(properties LABELS ${ARG_LABEL} TIMEOUT ${LIMITREE_SUITE_TIMEOUT}
                 RUN_SERIAL ${ARG_SERIAL} ${weight}
                 ENVIRONMENT ${LIMITREE_TEST_ENVIRONMENT})
  set(script ${PROJECT_SOURCE_DIR}/cmake/discover_suites.cmake)
  add_custom_command(
    TARGET ${target}
    POST_BUILD
    COMMAND
      ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DNAME=${name}
      "-DPROPERTIES=${properties}" -DTO=${tests} -P ${script}
    VERBATIM)
  # If the program is not built, its test fails instead of being missing.
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(
    WRITE ${include}
    "if(EXISTS \"${tests}\")\n  include(\"${tests}\")\nelse()\n"
    "  add_test(${name}_is_not_built ${target}_is_not_built)\n"
    "  set_tests_properties(${name}_is_not_built PROPERTIES LABELS "
    "\"${ARG_LABEL}\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# limitree_program_test(capi/limitree_test.c [more.c ...] [LIBS target ...]
#                       [LABELS label ...] [ARGS argument ...] [COUNTS_NEW])
# A separate program in C or C++ that passes if it returns 0.  It sees only what
# an installed limitree offers: the shared library, unless LIBS is given.
function(limitree_program_test source)
  set_property(GLOBAL APPEND PROPERTY LIMITREE_APART ${source})
  cmake_parse_arguments(ARG "COUNTS_NEW" "" "LIBS;LABELS;ARGS" ${ARGN})
  if(ARG_COUNTS_NEW AND LIMITREE_SANITIZE MATCHES thread)
    return()
  endif()
  _limitree_test_target(target ${source})
  if(NOT ARG_LIBS)
    set(ARG_LIBS limitree)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${target} ${source} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${target} PRIVATE limitree_flags ${ARG_LIBS}
                                          Threads::Threads)
  if(LIMITREE_SANITIZE)  # C++ sanitizers need it even in a C program
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  add_test(NAME ${target_name} COMMAND ${target} ${ARG_ARGS})
  set_tests_properties(
    ${target_name}
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 120 PROCESSORS 2 ENVIRONMENT
               "${LIMITREE_TEST_ENVIRONMENT}")
endfunction()

# limitree_python_test(NAME layering ARGS tests/layering.py [...]
#                      [LABELS label ...] [ENVIRONMENT NAME=value ...])
# Runs the Python that was found, in the root of the sources.  Generator
# expressions such as $<TARGET_FILE:limitree> are allowed.
function(limitree_python_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "ARGS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS lint)
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
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} PROCESSORS 2
               ENVIRONMENT "${LIMITREE_TEST_ENVIRONMENT};${ARG_ENVIRONMENT}")
endfunction()

# limitree_pytest(cli/test_check.py [LABELS label ...]
#                 [ENVIRONMENT NAME=value ...])
# One file of pytest functions.
function(limitree_pytest source)
  cmake_parse_arguments(ARG "" "" "LABELS;ENVIRONMENT" ${ARGN})
  _limitree_test_target(target ${source})
  limitree_python_test(
    NAME ${target_name}
    ARGS ${LIMITREE_PYTEST} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    LABELS ${ARG_LABELS}
    ENVIRONMENT ${ARG_ENVIRONMENT})
endfunction()
