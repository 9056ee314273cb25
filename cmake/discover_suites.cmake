# Writes a file for ctest: one test for each suite of a GoogleTest program.
#
# cmake -DPROGRAM=path -DNAME=core/tree -DPROPERTIES="LABELS;unit;..." -DTO=file
#       -P discover_suites.cmake
execute_process(
  COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listing
  COMMAND_ERROR_IS_FATAL ANY)

# Suites begin at the margin and end with a dot, before what they are
# instantiated with: `Redis/StoreCases/0.  # TypeParam = ...`.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "${listing}")
list(TRANSFORM suites REPLACE "\n|\\.$" "")
list(REMOVE_DUPLICATES suites)
if(NOT suites)
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()

set(text "")
foreach(suite ${suites})
  set(test "[==[${NAME}.${suite}]==]")
  string(APPEND text "add_test(${test} [==[${PROGRAM}]==] --gtest_brief=1 "
         "[==[--gtest_filter=${suite}.*]==])\n"
         "set_tests_properties(${test} PROPERTIES")
  foreach(word ${PROPERTIES})
    string(APPEND text " [==[${word}]==]")
  endforeach()
  string(APPEND text ")\n")
endforeach()
file(WRITE ${TO} "${text}")
