# Builds for 64-bit ARM with Debian's cross compiler, against the libraries that
# `dpkg --add-architecture arm64` makes installable:
#   cmake --toolchain cmake/linux-arm64.cmake ...
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# Finds only the libraries of that architecture: those of the compiling machine
# have the same names.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR}
    /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
