# stretto_mpi_test(TARGET label RANKS…): runs an executable under mpiexec, once for each number of ranks.
file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/mpi.env STRETTO_MPI_ENVIRONMENT REGEX "^[A-Z]")

function(stretto_mpi_test target label)
  foreach(ranks IN LISTS ARGN)
    add_test(NAME ${target}_np${ranks}
             COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
                     $<TARGET_FILE:${target}> ${MPIEXEC_POSTFLAGS})
    set_tests_properties(${target}_np${ranks} PROPERTIES
      LABELS "${label};np${ranks}" PROCESSORS ${ranks} TIMEOUT 300 ENVIRONMENT "${STRETTO_MPI_ENVIRONMENT}")
  endforeach()
endfunction()
