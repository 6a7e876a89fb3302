// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "by_formula.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/precond/jacobi.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/testing/counting_comm.hpp"

namespace stretto {

/// Rows given by a function of row and column, for small tests; zeros are left out.
inline DistributedRows rows_of(const Comm& comm, Global n, const Formula& entry) {
    auto partition = Partition::even(n, comm.size());
    auto rows = rows_of(partition, comm.rank(), entry);
    return {std::move(partition), std::move(rows)};
}

inline CsrMatrix<double> matrix(Comm& comm, Global n, const Formula& entry, int threads = 1) {
    auto [partition, rows] = rows_of(comm, n, entry);
    return {comm, std::move(partition), std::move(rows), threads};
}

inline CsrMatrix<double> problem(Comm& comm, const std::string& spec, int threads = 1) {
    auto [partition, rows] = generate(comm, spec);
    return {comm, std::move(partition), std::move(rows), threads};
}

using Values = ValuesOf<double>;

/// ‖b − A x‖/‖b‖ per column, computed without the solver.
inline std::vector<double> true_residuals(const CsrMatrix<double>& A, Values& b, Values& x) {
    const int m = b.view().columns();
    Values ax(A, m);
    A.apply(x.view(), ax.view());  // which fetches the halo
    const MultiVector<double> halo(A.halo_values(m), A.halo_rows(), m);
    std::vector<double> sums(static_cast<std::size_t>(2 * m));
    for (Index i = 0; i < A.local_rows(); ++i)
        for (int j = 0; j < m; ++j) {
            const double bj = b.view()(i, j);
            long double sum = bj;
            const auto [columns, values] = A.row(i);
            for (std::size_t k = 0; k < columns.size(); ++k) {
                const bool own = columns[k] < A.local_rows();
                const double xk = own ? x.view()(columns[k], j) : halo(columns[k] - A.local_rows(), j);
                sum -= static_cast<long double>(values[k]) * xk;
            }
            const auto r = static_cast<double>(sum);
            sums[static_cast<std::size_t>(j)] += r * r;
            sums[static_cast<std::size_t>(m + j)] += bj * bj;
        }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2 * m, MPI_DOUBLE, MPI_SUM, A.comm().mpi());
    std::vector<double> residuals;
    for (std::size_t j = 0; j < static_cast<std::size_t>(m); ++j) {
        const double norm = std::sqrt(sums[j + static_cast<std::size_t>(m)]);
        residuals.push_back(std::sqrt(sums[j]) / (norm > 0 ? norm : 1));
    }
    return residuals;
}

/// Solves A x = b, without or with Jacobi; what is called converged must be.
inline Result solved(Comm& comm, const CsrMatrix<double>& A, Values& b, Values& x, const std::string& spec, double rtol,
                     bool jacobi) {
    SolveOptions o;
    o.method = spec;
    o.rtol = rtol;
    o.max_iterations = 20000;
    const Jacobi M(A);
    const auto result = jacobi ? solve<double>(comm, A, M, b.view(), x.view(), o)
                               : solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    const auto residuals = true_residuals(A, b, x);
    for (std::size_t j = 0; j < residuals.size(); ++j)
        if (result.columns[j].status == Status::converged) {
            EXPECT_LE(residuals[j], rtol * (1 + 1e-6)) << spec << " lied about column " << j;
        }
    return result;
}

/// Tests of solves.
struct Solves : testing::Test {
    MpiComm comm;

    Result run(const CsrMatrix<double>& A, Values& b, Values& x, const std::string& method, double rtol = 1e-8,
               bool jacobi = false) {
        return solved(comm, A, b, x, method, rtol, jacobi);
    }

    /// That a method ends at the limit on iterations, inside of its blocks too, with the iterate of cg.
    void expect_limits_kept(const std::string& method) {
        const auto A = problem(comm, "poisson2d:30");
        Values b(A, 1, [](Global row, int j) { return uniform(5, row, j); });
        const Jacobi M(A);
        for (const int limit : {1, 2, 3, 5, 6, 11}) {
            Values x(A, 1), y(A, 1);
            SolveOptions o;
            o.max_iterations = limit;
            o.method = method;
            const auto result = solve<double>(comm, A, M, b.view(), x.view(), o);
            EXPECT_EQ(result.iterations, limit);
            o.method = "cg";
            const auto cg = solve<double>(comm, A, M, b.view(), y.view(), o);
            EXPECT_NEAR(result.relative_residual() / cg.relative_residual(), 1, 1e-8) << limit;
        }
    }
};

/// Whether an event has this in its text.
inline bool tells(const Result& result, const std::string& part) {
    return std::ranges::any_of(result.events,
                               [&](const Event& event) { return event.text.find(part) != std::string::npos; });
}

/// Reductions that nothing ran behind, of the whole solve.
inline std::int64_t blocking_reductions(const Result& result) {
    std::int64_t all = 0;
    for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard}) {
        const auto& counts = result.ledger.at(phase);
        all += counts.reductions - counts.hidden_reductions;
    }
    return all;
}

/// What an InputError of work() says; empty: none came.
template <class Work>
std::string refusal_of(Work&& work) {
    try {
        work();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}
inline void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' without '" << part << "'";
}

/// Counts its products in the communicator, so that a sum knows how many ran while it was under way.
struct Watched {
    const CsrMatrix<double>* A;
    CountingComm* comm;
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        ++comm->work;
        A->apply(x, y);
    }
    double bytes(int columns) const { return A->bytes(columns); }
};

/// work(A, b, name) for the small SPD matrices of the folder STRETTO_MATRICES, b = A · ones. False: there is none.
template <class Work>
bool each_real_spd_matrix(Comm& comm, Work&& work) {
    const char* folder = std::getenv("STRETTO_MATRICES");
    if (!folder) return false;
    for (const std::string name : {"nos3", "pyamg_bar", "lsc_F_2", "wathenSmall", "bcsstk16"}) {
        auto [partition, rows] = read_matrix(comm, std::string(folder) + "/" + name + ".mtx.gz", 1);
        const CsrMatrix<double> A(comm, std::move(partition), std::move(rows));
        Values ones(A, 1, [](Global, int) { return 1.0; }), b(A, 1);
        A.apply(ones.view(), b.view());
        work(A, b, name);
    }
    return true;
}
constexpr const char* no_matrices = "set STRETTO_MATRICES to a folder of .mtx.gz files";

/// The largest |x − y| over all ranks.
inline double distance(const Comm& comm, const Values& x, const Values& y) {
    double largest = 0;
    for (std::size_t i = 0; i < x.data().size(); ++i) largest = std::max(largest, std::abs(x.data()[i] - y.data()[i]));
    return all_max(comm, largest);
}

}  // namespace stretto
