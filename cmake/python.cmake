# Sets Python3_EXECUTABLE to an interpreter that has pytest: the system's, where
# the distribution installs its packages, or else the first one in PATH.
if(NOT Python3_EXECUTABLE)
  foreach(candidate /usr/bin/python3 python3)
    execute_process(
      COMMAND ${candidate} -c "import pytest, sys; print(sys.executable)"
      RESULT_VARIABLE status
      OUTPUT_VARIABLE found
      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(status EQUAL 0)
      set(Python3_EXECUTABLE ${found} CACHE FILEPATH "A Python with pytest")
      break()
    endif()
  endforeach()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
