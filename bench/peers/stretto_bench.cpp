// SPDX-License-Identifier: BSD-3-Clause
// Times iterations of Stretto's methods, all options at their defaults, safeguards included; one thread a rank. METHOD
// may be followed by the word csr: the matrix as compressed rows even where its rows repeat. Adds `bytes`, what an
// iteration has to move on all ranks, and `triad`, the bandwidth of all ranks together.
#include <algorithm>
#include <numeric>
#include <vector>

#include "harness.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/matrix/csr.hpp"
#include "stretto/precond/preconditioner.hpp"
#include "stretto/solvers/solve.hpp"

using namespace stretto;

namespace {

double sum(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/// STREAM's triad in bytes per second, the best of ten: 24 bytes an element, no write-allocate, on huge pages.
double triad() {
    constexpr std::size_t size = std::size_t{1} << 23;
    // Of different sizes, so that they do not start a power of two apart.
    const Buffer<double> a(size + 64), b(size + 128), c(size + 192);
    for (const auto* each : {&a, &b, &c}) std::ranges::fill(each->values(), 1.0);
    double best = 1e9;
    for (int k = 0; k < 10; ++k)
        best = std::min(best, peers::seconds(MPI_COMM_WORLD, [&] {
                            double* const to = a.data();
                            const double *const from = b.data(), *const with = c.data();
#pragma omp simd
                            for (std::size_t i = 0; i < size; ++i) to[i] = from[i] + 3.0 * with[i];
                        }));
    return sum(24.0 * size) / best;
}

class Solver {
public:
    Solver(Comm& comm, Problem problem, const std::string& method, const std::string& precond,
           peers::ordered_json& line)
        : comm_(comm),
          line_(line),
          bandwidth_(triad()),
          A_(comm, std::move(problem.partition), std::move(problem.rows), 1,
             method.ends_with(csr) ? Storage::compressed_rows : Storage::automatic),
          M_(make_preconditioner(precond, A_)),
          b_(static_cast<std::size_t>(A_.local_rows())),
          x_(b_.size()) {
        std::ranges::fill(b_.values(), 1.0);
        options_.method = method.ends_with(csr) ? method.substr(0, method.size() - csr.size()) : method;
        options_.rtol = 1e-8;  // not met within the iterations asked for; some safeguards look at it
        line["program"] = "Stretto";
        line["rows"] = A_.rows();
        line["nonzeros"] = A_.nonzeros();
        line["triad"] = bandwidth_;
    }

    void prepare(int iterations) {
        std::ranges::fill(x_.values(), 0.0);
        options_.max_iterations = iterations;
    }

    int solve() {
        result_ = stretto::solve<double>(comm_, A_, M_ ? AnyOperator<double>(*M_) : AnyOperator<double>(),
                                         {b_.data(), A_.local_rows(), 1}, {x_.data(), A_.local_rows(), 1}, options_);
        if (!options_.method.starts_with(result_.finished_by))
            throw std::runtime_error(fmt::format("{} went on with {}", options_.method, result_.finished_by));
        line_["bytes"] = sum(result_.per_iteration.bytes);
        line_["events"] = result_.events.size();
        return result_.iterations;
    }

    /// The recurrence's: a solve returns the best x, and the residual may have grown.
    double residual() const { return result_.columns.front().recursive_residual; }

private:
    static constexpr std::string_view csr = " csr";

    Comm& comm_;
    peers::ordered_json& line_;
    double bandwidth_;
    CsrMatrix<double> A_;
    std::unique_ptr<Preconditioner> M_;
    Buffer<double> b_, x_;
    SolveOptions options_;
    Result result_;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::main<Solver>(argc, argv, [](auto&& run) { run(); });
}
