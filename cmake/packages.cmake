# Packages for Debian and its relatives, made by `cpack`; `./dev build debian`
# does all of it.  Needs dpkg-dev, file, gzip and help2man.
#
#   liblimitree0      the shared library; 0 is the number of its SONAME
#   liblimitree-dev   headers, the static library, pkg-config and CMake files
#   limitree          the command and its man pages
#   limitree-service  what systemd needs to run `limitree serve`
#
# SOURCE_DATE_EPOCH is the time of everything inside, so that the same sources
# make the same bytes.  Texts and scripts are in cmake/debian/.
if(NOT TARGET limitree_cli OR NOT LIMITREE_WITH_SERVER)
  message(FATAL_ERROR "Packages for Debian need LIMITREE_CLI=ON, and all that "
                      "`limitree serve` needs")
endif()

set(LIMITREE_MAINTAINER
    "The limitree authors <limitree@users.noreply.github.com>"
    CACHE STRING "Name and address of who makes the packages for Debian")
set(LIMITREE_HOMEPAGE https://limitree.github.io/limitree/)

# ---- the version ------------------------------------------------------------
# Packages of one release that are built on different systems need different
# libraries; that of the newer system counts as newer.
cmake_host_system_information(RESULT system QUERY DISTRIB_INFO)
set(LIMITREE_DEBIAN_REVISION 1)
if(system_ID STREQUAL debian AND system_VERSION_ID)
  string(APPEND LIMITREE_DEBIAN_REVISION ~deb${system_VERSION_ID})
elseif(system_VERSION_ID)
  string(APPEND LIMITREE_DEBIAN_REVISION ~${system_ID}${system_VERSION_ID})
endif()
set(LIMITREE_DEBIAN_SUITE unstable)
if(system_VERSION_CODENAME)
  set(LIMITREE_DEBIAN_SUITE ${system_VERSION_CODENAME})
endif()
set(LIMITREE_DEBIAN_VERSION ${PROJECT_VERSION}-${LIMITREE_DEBIAN_REVISION})

# ---- files that only these packages have ------------------------------------
set(LIMITREE_DEBIAN_FOLDER ${PROJECT_SOURCE_DIR}/cmake/debian)
set(made ${PROJECT_BINARY_DIR}/debian)
find_program(LIMITREE_GZIP gzip REQUIRED)
find_program(LIMITREE_HELP2MAN help2man REQUIRED)

# Reads SOURCE_DATE_EPOCH from the environment, if it is there.
string(TIMESTAMP LIMITREE_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${LIMITREE_DEBIAN_FOLDER}/changelog.in ${made}/changelog.Debian
               @ONLY)
execute_process(
  COMMAND ${LIMITREE_GZIP} -9 --no-name --force --keep changelog.Debian
  WORKING_DIRECTORY ${made} COMMAND_ERROR_IS_FATAL ANY)

set(packages liblimitree${LIMITREE_ABI_VERSION} liblimitree-dev limitree
             limitree-service)
foreach(package component IN ZIP_LISTS packages LIMITREE_COMPONENTS)
  install(FILES ${made}/changelog.Debian.gz ${LIMITREE_DEBIAN_FOLDER}/copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          COMPONENT ${component})
endforeach()

# The command contains code of headers, and of llhttp if that has no library.
set(inside libcli11-dev libprotozero-dev nlohmann-json3-dev)
if(NOT LLHTTP_FOUND)
  list(APPEND inside node-llhttp)
endif()
set(notices)
foreach(package ${inside})
  file(READ /usr/share/doc/${package}/copyright notice)
  string(APPEND notices "==== ${package} ====\n\n${notice}\n")
endforeach()
file(WRITE ${made}/third-party "${notices}")
execute_process(COMMAND ${LIMITREE_GZIP} -9 --no-name --force third-party
                WORKING_DIRECTORY ${made} COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${made}/third-party.gz
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/limitree COMPONENT command)

# The man pages are what `--help` says.
set(pages)
foreach(subcommand "" check convert explain ping replay reset serve show
        simulate suggest top try)
  set(name limitree)
  if(subcommand)
    string(APPEND name -${subcommand})
  endif()
  add_custom_command(
    OUTPUT ${made}/${name}.1.gz
    COMMAND
      ${LIMITREE_DEBIAN_FOLDER}/man_page.sh $<TARGET_FILE:limitree_cli>
      ${PROJECT_VERSION} ${made}/${name}.1 ${subcommand}
    DEPENDS limitree_cli ${LIMITREE_DEBIAN_FOLDER}/man_page.sh
            ${made}/changelog.Debian  # it has the same time
    VERBATIM)
  list(APPEND pages ${made}/${name}.1.gz)
endforeach()
add_custom_target(limitree_man_pages ALL DEPENDS ${pages})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        COMPONENT command)

install(FILES ${LIMITREE_DEBIAN_FOLDER}/environment
        DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/limitree
        COMPONENT service)
install(DIRECTORY
        DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/limitree/descriptors
        COMPONENT service)
install(FILES ${LIMITREE_DEBIAN_FOLDER}/README.Debian
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/limitree-service
        COMPONENT service)

# ---- what all packages say --------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
# Each package has a summary of its own: the first line of its description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_CONTACT "${LIMITREE_MAINTAINER}")
set(CPACK_PACKAGE_HOMEPAGE_URL ${LIMITREE_HOMEPAGE})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
# LICENSE and other files without a package of theirs are left out.
set(CPACK_COMPONENTS_ALL ${LIMITREE_COMPONENTS})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE limitree)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${LIMITREE_DEBIAN_REVISION})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# The command needs the library, which no package has yet.
get_target_property(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS limitree
                    BINARY_DIR)
set(same "(= ${LIMITREE_DEBIAN_VERSION})")
set(about "\
A limit belongs to a node of a tree, such as all users, one user, or one\n\
action of a user. A request is charged to all nodes on its path, or to none\n\
if one of them is at its limit. Buckets are in memory, in a file that all\n\
processes of a machine share, or in Redis.\n\n")

# ---- the library ------------------------------------------------------------
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME liblimitree${LIMITREE_ABI_VERSION})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "\
rate limiting by trees of limits, library\n${about}\
This package has the shared library.")
file(CONFIGURE OUTPUT ${made}/library/shlibs CONTENT "\
liblimitree ${LIMITREE_ABI_VERSION} liblimitree${LIMITREE_ABI_VERSION}\
 (>= ${PROJECT_VERSION})\n")
file(WRITE ${made}/library/triggers "activate-noawait ldconfig\n")
# CPack adds scripts that call ldconfig unless it is given others.  It leaves
# out those that are not there, and dpkg's trigger does the work.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    ${made}/library/shlibs ${made}/library/triggers ${made}/none/postinst
    ${made}/none/postrm)

# ---- what compiling against it needs ----------------------------------------
set(depends "liblimitree${LIMITREE_ABI_VERSION} ${same}, libyaml-dev")
if(LIMITREE_REDIS)
  string(APPEND depends ", libhiredis-dev, libssl-dev")
  # In Debian 13 libcrypto.a needs libraries that libssl-dev does not ask for.
  pkg_check_modules(LIBCRYPTO REQUIRED libcrypto)
  if(z IN_LIST LIBCRYPTO_STATIC_LIBRARIES)
    string(APPEND depends ", zlib1g-dev")
  endif()
  if(zstd IN_LIST LIBCRYPTO_STATIC_LIBRARIES)
    string(APPEND depends ", libzstd-dev")
  endif()
endif()
if(LIBPSL_FOUND)
  string(APPEND depends ", libpsl-dev")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liblimitree-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${depends}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "\
rate limiting by trees of limits, development files\n${about}\
This package has the headers for C and C++, the static library, and the files\n\
by which pkg-config and CMake find them.")

# ---- the command ------------------------------------------------------------
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME limitree)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION net)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS
    "liblimitree${LIMITREE_ABI_VERSION} ${same}")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "\
rate limiting by trees of limits, command\n${about}\
This package has the command. It validates limits, shows what they do to a\n\
series of requests or to an access log, and what is left to a caller. With\n\
\"limitree serve\" it is a rate limit service for Envoy and for programs in\n\
any language, over gRPC and HTTP.")

# ---- the service ------------------------------------------------------------
foreach(script postinst prerm postrm)
  list(APPEND scripts ${LIMITREE_DEBIAN_FOLDER}/${script})
endforeach()
file(WRITE ${made}/service/conffiles
     "${CMAKE_INSTALL_FULL_SYSCONFDIR}/limitree/environment\n")
set(CPACK_DEBIAN_SERVICE_PACKAGE_NAME limitree-service)
set(CPACK_DEBIAN_SERVICE_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVICE_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_SERVICE_PACKAGE_DEPENDS "limitree ${same}, adduser")
set(CPACK_DEBIAN_SERVICE_PACKAGE_CONTROL_EXTRA ${scripts}
                                               ${made}/service/conffiles)
set(CPACK_COMPONENT_SERVICE_DESCRIPTION "\
rate limiting by trees of limits, service\n${about}\
This package runs \"limitree serve\" under systemd, with the descriptors of\n\
Envoy in /etc/limitree/descriptors.")

include(CPack)
