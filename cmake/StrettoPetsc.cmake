# PkgConfig::PETSC: the PETSc that PETSC_DIR and PETSC_ARCH name, as its build does, or that PKG_CONFIG_PATH finds. Looked
# for anew each time: the environment may name another than last time.
get_cmake_property(found CACHE_VARIABLES)
list(FILTER found INCLUDE REGEX "^(__pkg_config_checked_PETSC|pkgcfg_lib_PETSC_.*)$")
foreach(variable IN LISTS found)
  unset(${variable} CACHE)
endforeach()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  if(DEFINED ENV{PETSC_DIR})
    set(ENV{PKG_CONFIG_PATH}
        "$ENV{PETSC_DIR}/$ENV{PETSC_ARCH}/lib/pkgconfig:$ENV{PETSC_DIR}/lib/pkgconfig:$ENV{PKG_CONFIG_PATH}")
  endif()
  pkg_search_module(PETSC IMPORTED_TARGET petsc PETSc)
endif()
