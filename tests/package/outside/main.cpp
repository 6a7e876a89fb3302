// SPDX-License-Identifier: BSD-3-Clause
#include <stretto/stretto.hpp>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    stretto::MpiComm comm(MPI_COMM_WORLD);
    auto [partition, rows] = stretto::generate(comm, "poisson2d:50");
    const stretto::CsrMatrix<double> A(comm, partition, std::move(rows));
    const auto n = A.local_rows();
    std::vector<double> b(static_cast<std::size_t>(n), 1.0), x(b.size());
    const stretto::Jacobi M(A);
    const auto result = stretto::solve<double>(comm, A, M, {b.data(), n, 1}, {x.data(), n, 1});
    MPI_Finalize();
    return result.converged() ? 0 : 1;
}
