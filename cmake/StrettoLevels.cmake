# stretto_levels(TARGET): builds a shared library for the upper levels of x86-64 too, AVX2 (v3) and AVX-512 (v4), into
# glibc-hwcaps/ beside it, where the loader of glibc 2.33 and later finds the best that the processor has. Does nothing
# for static libraries, other loaders and other processors. Call it when the target's properties are all set.
include(CheckCXXSourceCompiles)

function(stretto_levels target)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    return()
  endif()
  set(CMAKE_REQUIRED_FLAGS -march=x86-64-v4)
  check_cxx_source_compiles("#include <cstdlib>\n#if !defined __GLIBC__ || !defined __AVX512F__\n#error\n#endif\nint main() {}"
                            STRETTO_HAS_LEVELS)
  if(NOT STRETTO_HAS_LEVELS)
    return()
  endif()
  # Code that a program and the library both instantiate from headers: each keeps its own, for its own processor.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions)
  foreach(level x86-64-v3 x86-64-v4)
    set(variant ${target}_${level})
    add_library(${variant} SHARED $<TARGET_PROPERTY:${target},SOURCES>)
    foreach(property COMPILE_DEFINITIONS COMPILE_FEATURES COMPILE_OPTIONS LINK_LIBRARIES LINK_OPTIONS SOVERSION)
      get_target_property(value ${target} ${property})
      if(value)
        set_property(TARGET ${variant} PROPERTY ${property} "${value}")
      endif()
    endforeach()
    # Whether it was asked for without warnings, CMake does not tell; the target itself has given them.
    target_include_directories(${variant} SYSTEM PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_options(${variant} PRIVATE -march=${level})
    set_target_properties(${variant} PROPERTIES
      EXPORT_COMPILE_COMMANDS OFF OUTPUT_NAME ${target}
      LIBRARY_OUTPUT_DIRECTORY $<TARGET_FILE_DIR:${target}>/glibc-hwcaps/${level})
    add_dependencies(${target} ${variant})
    install(TARGETS ${variant} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level} NAMELINK_SKIP)
  endforeach()
endfunction()
