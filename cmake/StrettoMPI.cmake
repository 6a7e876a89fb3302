# MPI::MPI_CXX: the MPI that mpicxx on the path belongs to, or one of those Debian installs side by side.
set(STRETTO_MPI auto CACHE STRING "Which MPI: auto (mpicxx on the path), openmpi or mpich")
set_property(CACHE STRETTO_MPI PROPERTY STRINGS auto openmpi mpich)

# Another choice than last time: forget all that was found then.
if(DEFINED STRETTO_MPI_CHOSEN AND NOT STRETTO_MPI STREQUAL STRETTO_MPI_CHOSEN)
  get_cmake_property(found CACHE_VARIABLES)
  list(FILTER found INCLUDE REGEX "^(MPI_|MPIEXEC|FIND_PACKAGE_MESSAGE_DETAILS_MPI)")
  foreach(variable IN LISTS found)
    unset(${variable} CACHE)
  endforeach()
endif()
set(STRETTO_MPI_CHOSEN ${STRETTO_MPI} CACHE INTERNAL "")

if(NOT STRETTO_MPI STREQUAL "auto")
  find_program(MPI_CXX_COMPILER mpicxx.${STRETTO_MPI} REQUIRED)
  find_program(MPIEXEC_EXECUTABLE mpiexec.${STRETTO_MPI} REQUIRED)
endif()
set(MPI_CXX_SKIP_MPICXX ON)  # the C interface only
find_package(MPI REQUIRED COMPONENTS CXX)
