# MPI::MPI_CXX: the MPI that mpicxx on the path belongs to, or one of those Debian installs side by side; or SimGrid's
# SMPI, which simulates one.
set(STRETTO_MPI auto CACHE STRING "Which MPI: auto (mpicxx on the path), openmpi, mpich or smpi")
set_property(CACHE STRETTO_MPI PROPERTY STRINGS auto openmpi mpich smpi)
if(STRETTO_MPI STREQUAL "smpi")
  find_path(SMPI_INCLUDE_DIR smpi/mpi.h REQUIRED)
  find_library(SIMGRID_LIBRARY simgrid REQUIRED)
  find_program(SMPIRUN smpirun REQUIRED)
  # What smpicxx adds besides is for C programs whose main and clock calls it replaces.
  add_library(MPI::MPI_CXX INTERFACE IMPORTED)
  target_include_directories(MPI::MPI_CXX INTERFACE ${SMPI_INCLUDE_DIR}/smpi)
  target_compile_definitions(MPI::MPI_CXX INTERFACE STRETTO_SIMULATION)
  target_link_libraries(MPI::MPI_CXX INTERFACE ${SIMGRID_LIBRARY})
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # SMPI loads the program as a shared object
  set(MPI_CXX_LIBRARIES smpi)
  return()
endif()

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
