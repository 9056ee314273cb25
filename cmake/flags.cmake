# limitree_flags: the flags of every target of this project.
add_library(limitree_flags INTERFACE)
target_compile_features(limitree_flags INTERFACE cxx_std_20 c_std_99)

target_compile_options(
  limitree_flags
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
            -Wno-missing-field-initializers
            $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
            $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
            $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
# gcc 12 reports impossible overlaps in std::string's operator+ (its PR 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION
                                            VERSION_LESS 13)
  target_compile_options(limitree_flags INTERFACE -Wno-restrict)
endif()
if(LIMITREE_WERROR)
  target_compile_options(limitree_flags INTERFACE -Werror)
endif()

if(LIMITREE_SANITIZE)
  target_compile_options(
    limitree_flags
    INTERFACE -fsanitize=${LIMITREE_SANITIZE} -fno-sanitize-recover=all
              -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  target_link_options(limitree_flags INTERFACE
                      -fsanitize=${LIMITREE_SANITIZE})
  # The default linker takes four times as long for a hundred test programs with
  # debug information.
  find_program(LIMITREE_LLD ld.lld)
  if(LIMITREE_LLD)
    target_link_options(limitree_flags INTERFACE -fuse-ld=lld)
  endif()
else()
  # The cost of these flags is too small to measure: docs/performance.md.
  include(CheckCXXCompilerFlag)
  foreach(flag -fcf-protection -mbranch-protection=standard
               -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER LIMITREE_HAS${flag} known)
    check_cxx_compiler_flag("-Werror ${flag}" ${known})
    if(${known})
      target_compile_options(limitree_flags INTERFACE ${flag})
    endif()
  endforeach()
  target_compile_options(
    limitree_flags
    INTERFACE -fstack-protector-strong
              $<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_ASSERTIONS>
              $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
  if(NOT APPLE)
    target_link_options(limitree_flags INTERFACE -Wl,-z,relro,-z,now)
  endif()
endif()

# Symbols are hidden unless limitree.h says otherwise, and objects may go into
# both the shared and the static library.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_EXTENSIONS OFF)
