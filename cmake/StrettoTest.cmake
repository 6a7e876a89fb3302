# stretto_mpi_test(TARGET label RANKS…): runs an executable under mpiexec, once for each number of ranks.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/mpi.env STRETTO_MPI_ENVIRONMENT REGEX "^[A-Z]")

set(STRETTO_TEST_TIMEOUT 600 CACHE STRING "Seconds for a test in C++ on some ranks")

# Waiting ranks of MPICH spin: on fewer cores than ranks a test takes minutes instead of seconds.
set(STRETTO_MOST_RANKS 4)
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpiexec_version ERROR_QUIET)
if(mpiexec_version MATCHES "HYDRA")
  cmake_host_system_information(RESULT STRETTO_MOST_RANKS QUERY NUMBER_OF_PHYSICAL_CORES)
endif()

function(stretto_mpi_test target label)
  foreach(ranks IN LISTS ARGN)
    if(ranks GREATER STRETTO_MOST_RANKS)
      continue()
    endif()
    add_test(NAME ${target}_np${ranks}
             COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
                     $<TARGET_FILE:${target}> ${MPIEXEC_POSTFLAGS})
    set_tests_properties(${target}_np${ranks} PROPERTIES
      LABELS "${label};np${ranks}" PROCESSORS ${ranks} TIMEOUT ${STRETTO_TEST_TIMEOUT} ENVIRONMENT "${STRETTO_MPI_ENVIRONMENT}")
  endforeach()
endfunction()
