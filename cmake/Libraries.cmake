# SPDX-License-Identifier: Apache-2.0
# The libraries that oneib stands on, all from the distribution.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBXML2 REQUIRED IMPORTED_TARGET libxml-2.0)
pkg_check_modules(LIBCONFIG REQUIRED IMPORTED_TARGET libconfig)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.85)
pkg_check_modules(IBUMAD REQUIRED IMPORTED_TARGET libibumad)
pkg_check_modules(IBMAD REQUIRED IMPORTED_TARGET libibmad)

pkg_check_modules(MNL REQUIRED IMPORTED_TARGET libmnl)
pkg_check_modules(IBVERBS REQUIRED IMPORTED_TARGET libibverbs)
pkg_check_modules(LIBCAPNG REQUIRED IMPORTED_TARGET libcap-ng)
pkg_check_modules(LIBVIRT REQUIRED IMPORTED_TARGET libvirt)
pkg_check_modules(ZEROMQ REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
find_package(Threads REQUIRED)

# xmlrpc-c comes without pkg-config files.
function(oneib_find_xmlrpc target library header)
  find_library(${target}_LIBRARY ${library} REQUIRED)
  find_path(${target}_INCLUDE ${header} REQUIRED)
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${${target}_LIBRARY} ${ARGN})
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
endfunction()
oneib_find_xmlrpc(xmlrpc_util xmlrpc_util xmlrpc-c/util.h)
oneib_find_xmlrpc(xmlrpc_base xmlrpc xmlrpc-c/base.h xmlrpc_util)
oneib_find_xmlrpc(xmlrpc_client xmlrpc_client xmlrpc-c/client.h xmlrpc_base)

# A library: its sources, what it may use and shows in its headers, what it uses within. The dependency rule of the design
# lives here: a library that is not named cannot be linked.
function(oneib_library name)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "" "SOURCES;USES;PRIVATE")
  add_library(${name} STATIC ${library_SOURCES})
  target_link_libraries(${name} PUBLIC ${library_USES} PRIVATE ${library_PRIVATE})
endfunction()
