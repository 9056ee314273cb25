# Looks for what limitree is built with, and stops with one sentence that names
# all that is missing and how to install it: CMake's own errors name one thing
# at a time, and no packages.  server.cmake, and the folders of the command and
# of the tests, look for their own.

# LIMITREE_NEED_<key>: name|packages of Debian, Ubuntu|Fedora|Alpine|Homebrew.
set(cell "[^|]+")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/requirements.txt rows
     REGEX ".(compiler|pkg-config|yaml-0.1|hiredis|openssl|python)[|]")
foreach(row ${rows})
  string(REGEX MATCH "^${cell}.(${cell}).(${cell}.${cell}.${cell}.${cell}.\
${cell})" _ "${row}")
  set(LIMITREE_NEED_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

set(LIMITREE_MISSING)  # of the above
set(LIMITREE_MISSING_OTHERS)  # in words
set(LIMITREE_HINTS)  # how to get those

# limitree_join(<variable> <word> <text> ...): "a, b and c".
function(limitree_join out word)
  list(POP_BACK ARGN last)
  if(ARGN)
    list(JOIN ARGN ", " first)
    set(last "${first} ${word} ${last}")
  endif()
  set(${out} "${last}" PARENT_SCOPE)
endfunction()

function(limitree_stop_if_missing)
  if(NOT LIMITREE_MISSING AND NOT LIMITREE_MISSING_OTHERS)
    return()
  endif()
  set(names)
  foreach(one ${LIMITREE_MISSING})
    string(REPLACE "|" ";" row "${LIMITREE_NEED_${one}}")
    list(POP_FRONT row name)
    list(APPEND names "${name}")
    foreach(packages apt dnf apk brew)
      list(POP_FRONT row some)
      string(APPEND ${packages} " ${some}")
    endforeach()
  endforeach()
  set(ways)
  if(LIMITREE_MISSING)
    set(ways "apt-get install${apt} (Debian, Ubuntu)"
             "dnf install${dnf} (Fedora)" "apk add${apk} (Alpine)"
             "brew install${brew} (macOS)")
  endif()
  limitree_join(names and ${names} ${LIMITREE_MISSING_OTHERS})
  limitree_join(ways or ${ways})
  list(JOIN LIMITREE_HINTS "; " hints)
  if(ways AND hints)
    set(ways "${ways}; ")
  endif()
  message(FATAL_ERROR "limitree cannot be built without ${names}: "
                      "${ways}${hints}")
endfunction()

# For a machine without the programs that look for libraries.
macro(limitree_look_for_headers)
  limitree_look_for_header(yaml-0.1 yaml.h)
  if(NOT DEFINED LIMITREE_REDIS OR LIMITREE_REDIS)
    limitree_look_for_header(hiredis hiredis/hiredis.h)
    limitree_look_for_header(openssl openssl/ssl.h)
  endif()
endmacro()

macro(limitree_look_for_header need header)
  find_path(LIMITREE_FOUND_${need} ${header}
            PATHS /usr/include /usr/local/include /opt/homebrew/include)
  if(NOT LIMITREE_FOUND_${need})
    list(APPEND LIMITREE_MISSING ${need})
  endif()
  unset(LIMITREE_FOUND_${need} CACHE)
endmacro()

# To be called before project(), which stops without a compiler.
macro(limitree_require_compiler)
  if(NOT CMAKE_CXX_COMPILER AND NOT CMAKE_TOOLCHAIN_FILE
     AND "$ENV{CXX}$ENV{CMAKE_TOOLCHAIN_FILE}" STREQUAL "")
    # Where CMake looks itself.
    find_program(LIMITREE_FOUND_CXX
                 NAMES c++ CC g++ aCC cl bcc xlC icpx icx clang++)
    if(NOT LIMITREE_FOUND_CXX)
      unset(LIMITREE_FOUND_CXX CACHE)
      list(APPEND LIMITREE_MISSING compiler)
      find_program(LIMITREE_FOUND_PKG_CONFIG NAMES pkg-config pkgconf)
      if(NOT LIMITREE_FOUND_PKG_CONFIG)
        list(APPEND LIMITREE_MISSING pkg-config)
      endif()
      unset(LIMITREE_FOUND_PKG_CONFIG CACHE)
      limitree_look_for_headers()
      limitree_stop_if_missing()
    endif()
    unset(LIMITREE_FOUND_CXX CACHE)
  endif()
endmacro()

# How the library beside the C library asks name servers for SRV records, or the
# C library itself; empty if neither can.  The first goes first: before glibc
# 2.34 only it could.
macro(limitree_find_resolver)
  set(LIMITREE_RESOLVER)
  set(LIMITREE_RESOLVER_LIBRARY)
  foreach(way IN ITEMS RES_NSEARCH-resolv RES_NSEARCH RES_SEARCH)
    if(NOT LIMITREE_RESOLVER)
      string(REGEX MATCH "resolv$" CMAKE_REQUIRED_LIBRARIES ${way})
      string(REGEX MATCH "^[A-Z_]+[A-Z]" function ${way})
      string(MAKE_C_IDENTIFIER "LIMITREE_FOUND_${way}" found)
      set(CMAKE_REQUIRED_DEFINITIONS -D${function})
      check_cxx_source_compiles(
        "#include <netinet/in.h>
         #include <arpa/nameser.h>
         #include <resolv.h>
         unsigned char answer[9];
         int main() {
         #ifdef RES_NSEARCH
           const int size = res_nsearch(&_res, \"a\", 1, 33, answer, 9);
         #else
           const int size = res_search(\"a\", 1, 33, answer, 9);
         #endif
           return size + dn_skipname(answer, answer + 9);
         }" ${found})
      if(${found})
        set(LIMITREE_RESOLVER ${function})
        set(LIMITREE_RESOLVER_LIBRARY ${CMAKE_REQUIRED_LIBRARIES})
      endif()
    endif()
  endforeach()
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
endmacro()

# Parts of C++20 that came late, and that limitree uses.
macro(limitree_check_compiler)
  include(CheckCXXSourceCompiles)
  set(CMAKE_CXX_STANDARD 20)
  check_cxx_source_compiles(
    "#include <algorithm>
     #include <bit>
     #include <chrono>
     #include <cstdint>
     #include <span>
     int main() {
       const std::int64_t numbers[] = {1, 2};
       const std::span all{numbers};
       const std::chrono::sys_days day{std::chrono::year{2020} / 2 / 29};
       return std::ranges::any_of(all, [](auto one) { return one > 2; }) ||
              std::bit_cast<double>(numbers[0]) > 1 || day.time_since_epoch() <
              std::chrono::days{0};
     }" LIMITREE_CXX_IS_NEW)
  unset(CMAKE_CXX_STANDARD)
  if(NOT LIMITREE_CXX_IS_NEW)
    unset(LIMITREE_CXX_IS_NEW CACHE)  # the next one may be
    list(APPEND LIMITREE_MISSING_OTHERS "a newer C++ compiler than \
${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
    list(APPEND LIMITREE_HINTS
         "gcc 11 and clang 14 are new enough, CMAKE_CXX_COMPILER names one")
  endif()
endmacro()

# Sets what find_package and pkg_check_modules set for libyaml, and for hiredis
# and OpenSSL with LIMITREE_REDIS.
macro(limitree_find_libraries)
  find_package(PkgConfig QUIET)
  if(NOT PKG_CONFIG_FOUND)
    list(APPEND LIMITREE_MISSING pkg-config)
    limitree_look_for_headers()
  else()
    pkg_check_modules(LIBYAML QUIET IMPORTED_TARGET yaml-0.1)
    if(NOT LIBYAML_FOUND)
      list(APPEND LIMITREE_MISSING yaml-0.1)
    endif()
    if(LIMITREE_REDIS)
      pkg_check_modules(HIREDIS QUIET IMPORTED_TARGET hiredis)
      if(NOT HIREDIS_FOUND)
        list(APPEND LIMITREE_MISSING hiredis)
      endif()
      find_package(OpenSSL QUIET)
      if(NOT OPENSSL_FOUND)
        list(APPEND LIMITREE_MISSING openssl)
        if(LIMITREE_STATIC_LIBRARIES)
          string(REPLACE "|openssl-dev|" "|openssl-dev openssl-libs-static|"
                         LIMITREE_NEED_openssl "${LIMITREE_NEED_openssl}")
          list(APPEND LIMITREE_HINTS
               "LIMITREE_STATIC_LIBRARIES=OFF takes shared libraries")
        endif()
      endif()
    endif()
  endif()
endmacro()

# Sets what find_package sets for Python and pybind11.
macro(limitree_find_python)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT Python_Interpreter_FOUND OR Python_VERSION VERSION_LESS 3.9)
    set(Python_FOUND OFF)
    set(Python_Interpreter_FOUND OFF)
    list(APPEND LIMITREE_MISSING_OTHERS "Python 3.9 or newer")
    list(APPEND LIMITREE_HINTS "Python_EXECUTABLE names one")
  elseif(NOT Python_FOUND)
    list(APPEND LIMITREE_MISSING python)
  endif()
  if(Python_Interpreter_FOUND)
    if(NOT pybind11_DIR)
      # pybind11 may be installed as a package of that Python.
      execute_process(
        COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
        OUTPUT_VARIABLE pybind11_DIR
        ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    set(PYBIND11_FINDPYTHON ON)
    if(Python_FOUND)
      find_package(pybind11 3.0 QUIET CONFIG)
    endif()
    if(NOT pybind11_FOUND AND (Python_FOUND OR NOT pybind11_DIR))
      list(APPEND LIMITREE_MISSING_OTHERS "pybind11 3.0 or newer")
      list(APPEND LIMITREE_HINTS
           "${Python_EXECUTABLE} -m pip install \"pybind11>=3.0\"")
    endif()
  endif()
endmacro()
