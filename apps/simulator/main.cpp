// SPDX-License-Identifier: BSD-3-Clause
// One rank of a simulated cluster: runs the methods of a job, a JSON file that `stretto simulate` writes, one after the
// other, and prints a line of JSON for each.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "run_method.hpp"
#include "simulated_system.hpp"

using json = nlohmann::json;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, code = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        static const json job = json::parse(std::ifstream(argv[1]));  // the ranks share it
        const auto system = make_system(job);
        for (const std::string method : job.at("methods")) {
            const json line = run_method(*system, job, method);
            if (rank == 0) fmt::print("{}\n", line.dump());
            std::fflush(stdout);
        }
    } catch (const std::exception& error) {
        if (rank == 0) fmt::print("{}\n", json{{"error", error.what()}}.dump());
        code = 2;
    }
    MPI_Finalize();
    return code;
}
