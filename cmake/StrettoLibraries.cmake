# Libraries that preconditioners and partitions are made with, by their full paths: few of them bring CMake packages.
# SuiteSparse, METIS and LAPACK are small, serial and required. hypre is bound to an MPI (Debian's to Open MPI), so a
# build with another MPI must do without, and it is optional.
set(STRETTO_LIBRARIES "")
foreach(library umfpack cholmod amd btf metis lapack)
  find_library(STRETTO_LIB_${library} ${library} REQUIRED)
  mark_as_advanced(STRETTO_LIB_${library})
  list(APPEND STRETTO_LIBRARIES ${STRETTO_LIB_${library}})
endforeach()
find_path(STRETTO_SUITESPARSE_INCLUDE umfpack.h PATH_SUFFIXES suitesparse REQUIRED)
find_path(STRETTO_METIS_INCLUDE metis.h REQUIRED)
mark_as_advanced(STRETTO_SUITESPARSE_INCLUDE STRETTO_METIS_INCLUDE)
set(STRETTO_INCLUDES ${STRETTO_SUITESPARSE_INCLUDE} ${STRETTO_METIS_INCLUDE})

# Looked for anew each time: the environment may name another than last time.
unset(HYPRE_INCLUDE_DIR CACHE)
unset(HYPRE_LIBRARY CACHE)
find_path(HYPRE_INCLUDE_DIR HYPRE_parcsr_ls.h HINTS ENV HYPRE_DIR PATH_SUFFIXES include hypre)
find_library(HYPRE_LIBRARY HYPRE HINTS ENV HYPRE_DIR PATH_SUFFIXES lib)
option(STRETTO_WITH_HYPRE "Use hypre where it is found" ON)
set(STRETTO_HYPRE OFF)
if(STRETTO_WITH_HYPRE AND HYPRE_INCLUDE_DIR AND HYPRE_LIBRARY AND (DEFINED ENV{HYPRE_DIR} OR NOT "${MPI_CXX_LIBRARIES}" MATCHES "mpich|smpi"))
  set(STRETTO_HYPRE ON)
  list(APPEND STRETTO_LIBRARIES ${HYPRE_LIBRARY})
  list(APPEND STRETTO_INCLUDES ${HYPRE_INCLUDE_DIR})
endif()
message(STATUS "Preconditioner amg (hypre): ${STRETTO_HYPRE}")
