# Reads the version from capi/limitree.h, the one place that states it.  To be
# included before project(), which takes LIMITREE_VERSION.

set(header ${CMAKE_CURRENT_SOURCE_DIR}/capi/limitree.h)
foreach(name VERSION_MAJOR VERSION_MINOR VERSION_PATCH ABI_VERSION)
  file(STRINGS ${header} line REGEX "^#define LIMITREE_${name} [0-9]+$")
  if(NOT line MATCHES "^#define LIMITREE_${name} ([0-9]+)$")
    message(FATAL_ERROR "${header} does not state LIMITREE_${name} once")
  endif()
  set(LIMITREE_${name} ${CMAKE_MATCH_1})
endforeach()
set(LIMITREE_VERSION "${LIMITREE_VERSION_MAJOR}.${LIMITREE_VERSION_MINOR}.\
${LIMITREE_VERSION_PATCH}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
unset(header)
unset(line)
