// SPDX-License-Identifier: BSD-3-Clause
// mpirun -n P read_matrix [FILE [THREADS [RUNS]]]: seconds to read and assemble a Matrix Market file, best of RUNS.
// Without a file, one of a million rows is written first.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "stretto/comm/collective.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/io/matrix_market.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        const stretto::MpiComm comm;
        std::string path = argc > 1 ? argv[1] : "";
        const bool own = path.empty();
        if (own) {
            path = std::filesystem::temp_directory_path() / "stretto_bench_read_matrix.mtx";
            const auto [partition, rows] = stretto::generate(comm, "poisson3d:100");
            const double begin = MPI_Wtime();
            stretto::write_matrix(comm, path, partition, rows);
            if (comm.rank() == 0) std::printf("written in %.3f s\n", MPI_Wtime() - begin);
        }
        const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
        const int runs = argc > 3 ? std::atoi(argv[3]) : 1;
        double best = std::numeric_limits<double>::infinity();
        stretto::Global entries = 0;
        for (int run = 0; run < runs; ++run) {
            MPI_Barrier(comm.mpi());
            const double begin = MPI_Wtime();
            const auto file = stretto::read_matrix(comm, path, threads);
            best = std::min(best, stretto::all_max(comm, MPI_Wtime() - begin));
            entries = stretto::all_sum(comm, file.rows.start.back());
        }
        if (comm.rank() == 0)
            std::printf("%.3f s, %.1f MB/s, %.2f M entries/s\n", best,
                        1e-6 * static_cast<double>(std::filesystem::file_size(path)) / best,
                        1e-6 * static_cast<double>(entries) / best);
        if (own && comm.rank() == 0) std::filesystem::remove(path);
    }
    MPI_Finalize();
}
