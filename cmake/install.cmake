# The files of `cmake --install`, and how other projects find them:
# find_package(limitree) with CMake, `pkg-config limitree` without.
# `cmake --install --component` installs one of these, each without the others;
# `license` is a component, too.
set(LIMITREE_COMPONENTS library development command service)
include(CMakePackageConfigHelpers)

set(LIMITREE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/limitree)

# Two sets, because only the static library needs other libraries to be found
# again.
install(TARGETS limitree EXPORT limitreeShared
        LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS limitree_static EXPORT limitreeStatic
        ARCHIVE COMPONENT development)
foreach(set limitreeShared limitreeStatic)
  install(EXPORT ${set} NAMESPACE limitree:: FILE ${set}.cmake
          DESTINATION ${LIMITREE_PACKAGE_DIR} COMPONENT development)
endforeach()
install(FILES capi/limitree.h bindings/limitree.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

configure_package_config_file(
  cmake/limitreeConfig.cmake.in limitreeConfig.cmake
  INSTALL_DESTINATION ${LIMITREE_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor release may change what a caller wrote.
write_basic_package_version_file(limitreeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/limitreeConfig.cmake
              ${PROJECT_BINARY_DIR}/limitreeConfigVersion.cmake
        DESTINATION ${LIMITREE_PACKAGE_DIR} COMPONENT development)

# The prefix is relative to the file, so an installation can be moved.
file(RELATIVE_PATH LIMITREE_PC_PREFIX /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
if(APPLE)
  set(LIMITREE_CXX_LIBRARY c++)
else()
  set(LIMITREE_CXX_LIBRARY stdc++)
endif()
set(LIMITREE_PC_REQUIRES yaml-0.1)
if(LIMITREE_REDIS)
  string(APPEND LIMITREE_PC_REQUIRES " hiredis libssl libcrypto")
  if(LIMITREE_RESOLVER_LIBRARY)
    set(LIMITREE_PC_RESOLVER " -l${LIMITREE_RESOLVER_LIBRARY}")
  endif()
endif()
if(LIBPSL_FOUND)
  string(APPEND LIMITREE_PC_REQUIRES " libpsl")
endif()
configure_file(capi/limitree.pc.in limitree.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/limitree.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
