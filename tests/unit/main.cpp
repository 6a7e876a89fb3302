// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <mpi.h>

// Every test runs on all ranks alike. Rank 0 prints; a failure on any other rank is printed by that rank and
// fails the whole run.
int main(int argc, char** argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);  // for progress threads
    testing::InitGoogleTest(&argc, argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        struct FailuresOnly : testing::EmptyTestEventListener {
            void OnTestPartResult(const testing::TestPartResult& result) override {
                if (result.failed())
                    std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(), result.message());
            }
        };
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailuresOnly);
    }
    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
