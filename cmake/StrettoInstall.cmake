# cmake --install: headers, library, find_package(Stretto), pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Stretto)

install(TARGETS stretto EXPORT StrettoTargets)
install(DIRECTORY include/stretto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.hpp)
install(EXPORT StrettoTargets NAMESPACE Stretto:: DESTINATION ${package_dir})

# A static library leaves its own dependencies to whoever links it.
get_target_property(library_type stretto TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(STRETTO_STATIC ON)
  set(pc_requires "Requires: fmt zlib")
  list(JOIN STRETTO_LIBRARIES " " pc_private_libs)
else()
  set(STRETTO_STATIC OFF)
  set(pc_requires "Requires.private: fmt zlib")
endif()
configure_package_config_file(cmake/StrettoConfig.cmake.in ${PROJECT_BINARY_DIR}/StrettoConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrettoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrettoConfig.cmake ${PROJECT_BINARY_DIR}/StrettoConfigVersion.cmake
        DESTINATION ${package_dir})

set(pc_cflags ${OpenMP_CXX_FLAGS} ${MPI_CXX_COMPILE_DEFINITIONS})
list(TRANSFORM pc_cflags PREPEND -D REGEX "^[A-Z_]")
foreach(dir IN LISTS MPI_CXX_INCLUDE_DIRS)
  list(APPEND pc_cflags -I${dir})
endforeach()
list(JOIN pc_cflags " " pc_cflags)
list(JOIN MPI_CXX_LIBRARIES " " pc_libs)
string(APPEND pc_libs " ${pc_private_libs} ${OpenMP_CXX_FLAGS}")
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/stretto.pc.in ${PROJECT_BINARY_DIR}/stretto.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stretto.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
