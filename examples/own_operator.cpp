// SPDX-License-Identifier: BSD-3-Clause
// An operator and a preconditioner of your own, without a matrix, and several right-hand sides at once: any
// type with apply(x, y) and bytes(columns) will do. Here A is the integral operator (A x)ᵢ = xᵢ + (h/2) Σⱼ
// cos(i h) cos(j h) xⱼ, whose sum runs over all ranks; its diagonal is the preconditioner.
#include <cmath>
#include <cstdio>
#include <stretto/stretto.hpp>
#include <vector>

using stretto::Global, stretto::Index, stretto::MultiVector;

struct CosineKernel {
    stretto::Comm& comm;
    Global first, n;

    double wave(Index i) const { return std::cos(static_cast<double>(first + i) / static_cast<double>(n)); }

    void apply(MultiVector<double> x, MultiVector<double> y) const {
        std::vector<double> mine(static_cast<std::size_t>(x.columns())), sum(mine.size());
        for (Index i = 0; i < x.rows(); ++i)
            for (int j = 0; j < x.columns(); ++j) mine[static_cast<std::size_t>(j)] += wave(i) * x(i, j);
        comm.start_sum(mine, sum).wait();
        for (Index i = 0; i < x.rows(); ++i)
            for (int j = 0; j < x.columns(); ++j)
                y(i, j) = x(i, j) + wave(i) * sum[static_cast<std::size_t>(j)] / (2.0 * static_cast<double>(n));
    }
    double bytes(int columns) const { return 3.0 * 8 * columns * static_cast<double>(n) / comm.size(); }
};

struct Diagonal {
    const CosineKernel& A;

    void apply(MultiVector<double> r, MultiVector<double> z) const {
        for (Index i = 0; i < r.rows(); ++i)
            for (int j = 0; j < r.columns(); ++j)
                z(i, j) = r(i, j) / (1 + A.wave(i) * A.wave(i) / (2.0 * static_cast<double>(A.n)));
    }
    double bytes(int columns) const { return A.bytes(columns); }
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 1;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        const auto partition = stretto::Partition::even(10000, comm.size());
        const CosineKernel A{comm, partition.first(comm.rank()), partition.rows()};

        const Index rows = partition.rows(comm.rank());
        constexpr int columns = 3;
        std::vector<double> b(static_cast<std::size_t>(rows) * columns), x(b.size(), 0.0);
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1.0 + static_cast<double>(i % columns);

        stretto::SolveOptions options;
        options.method = "pipelined_bicgstab";
        const Diagonal M{A};
        const auto result =
            stretto::solve<double>(comm, A, M, {b.data(), rows, columns}, {x.data(), rows, columns}, options);
        for (const auto& column : result.columns)
            if (comm.rank() == 0)
                std::printf("%s after %d iterations, ‖b − Ax‖/‖b‖ = %.2e\n", stretto::name(column.status).data(),
                            column.iterations, column.relative_residual);
        exit_code = result.converged() ? 0 : 1;
    }
    MPI_Finalize();
    return exit_code;
}
