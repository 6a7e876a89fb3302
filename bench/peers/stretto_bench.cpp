// SPDX-License-Identifier: BSD-3-Clause
// Stretto's methods, all options at their defaults, safeguards included; one thread a rank. `bytes`: what an iteration
// has to move on all ranks; `csr_bytes`: the same with the matrix as compressed rows; `triad`: the bandwidth of all
// ranks together.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "harness.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/model/triad_rate.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/sparse/storage_report.hpp"

using namespace stretto;

namespace {

double sum(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/// Bytes per second of all ranks, the best of three.
double best_rate(const Comm& comm, const Triad& triad) {
    double best = 0;
    for (int k = 0; k < 3; ++k) best = std::max(best, triad_rate(comm, triad));
    return best;
}

struct System {
    System(Comm& communicator, DistributedRows problem, peers::ordered_json& about)
        : comm(communicator),
          A(comm, std::move(problem.partition), std::move(problem.rows), 1),
          b(static_cast<std::size_t>(A.local_rows())),
          x(b.size()) {
        std::ranges::fill(b.values(), 1.0);
        about["program"] = "Stretto";
        about["rows"] = A.rows();
        about["nonzeros"] = A.nonzeros();
        const auto storage = report_storage(A, 1);
        about["bytes_per_nonzero"] = storage.bytes_per_nonzero;
        about["storage"] = storage.main;
    }

    void multiply() { A.apply({b.data(), A.local_rows(), 1}, {x.data(), A.local_rows(), 1}); }

    double residual(const Buffer<double>& v) {
        A.apply({v.data(), A.local_rows(), 1}, {x.data(), A.local_rows(), 1});
        double rr = 0, bb = 0;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const double b_i = b.data()[i], r = b_i - x.data()[i];
            rr += r * r;
            bb += b_i * b_i;
        }
        return std::sqrt(sum(rr) / sum(bb));
    }

    void product_costs(peers::ordered_json& line) {
        line["bytes"] = sum(A.bytes(1));
        line["csr_bytes"] = compressed_bytes();
        line["triad"] = best_rate(comm, triad);
    }

    /// That a product of compressed rows has to move.
    double compressed_bytes() const {
        return 12.0 * static_cast<double>(A.nonzeros()) + 20.0 * static_cast<double>(A.rows());
    }

    Comm& comm;
    CsrMatrix<double> A;
    Buffer<double> b, x;
    Triad triad{1};

    class Solver;
};

class System::Solver {
public:
    Solver(System& system, const std::string& method, const std::string& precond)
        : on_(system), M_(make_preconditioner(precond, on_.A)) {
        options_.method = method;
        options_.rtol = 1e-8;  // what users ask for; a solve that meets it ends, and says where
    }

    void prepare(int iterations) {
        std::ranges::fill(on_.x.values(), 0.0);
        options_.max_iterations = iterations;
    }

    int solve(peers::Stamps& stamps) {
        options_.monitor = [&](const IterationInfo& at) {
            if (at.iteration > 0) stamps(at.iteration);
            return true;
        };
        const int done = solve();
        const auto over = std::ranges::find_if(
            result_.events, [](const Event& event) { return event.text.starts_with("going on with"); });
        return over == result_.events.end() ? done : over->iteration;
    }

    int solve() {
        const auto rows = on_.A.local_rows();
        result_ = stretto::solve<double>(on_.comm, on_.A, M_ ? AnyOperator<double>(*M_) : AnyOperator<double>(),
                                         {on_.b.data(), rows, 1}, {on_.x.data(), rows, 1}, options_);
        return result_.iterations;
    }

    void costs(peers::ordered_json& line) {
        const auto& each = result_.per_iteration;
        line["bytes"] = sum(each.bytes);
        line["csr_bytes"] = sum(each.bytes - each.applies * on_.A.bytes(1)) + each.applies * on_.compressed_bytes();
        line["triad"] = best_rate(on_.comm, on_.triad);
        line["events"] = result_.events.size();
    }

    void prepare_short(bool verified) {
        options_.max_iterations = 1;
        options_.rtol = 0;
        options_.zero_guess = true;
        options_.verify = verified ? Verify::true_residual : Verify::recurrence;
        options_.iterate = verified ? Iterate::best : Iterate::last;
        solver_.emplace(on_.comm, on_.A, M_ ? AnyOperator<double>(*M_) : AnyOperator<double>(), on_.A.local_rows(), 1,
                        options_);
    }
    void solve_short() {
        const auto rows = on_.A.local_rows();
        (void)solver_->solve(MultiVector<double>(on_.b.data(), rows, 1), {on_.x.data(), rows, 1});
    }

    void rely(double rtol, int iterations, peers::ordered_json& line) {
        relies_ = true;
        options_.rtol = rtol;
        prepare(iterations);
        line["seconds"] = peers::seconds([&] { line["iterations"] = solve(); });
        line["says"] = std::string(name(result_.status));
        line["converged"] = result_.converged();
    }

    double residual() const {
        // After a number of iterations the recurrence's: a solve returns the best x, and the residual may have grown.
        return relies_ ? result_.relative_residual() : result_.columns.front().recursive_residual;
    }

private:
    System& on_;
    std::unique_ptr<Preconditioner> M_;
    SolveOptions options_;
    Result result_;
    std::optional<stretto::Solver<double>> solver_;
    bool relies_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::main<System>(argc, argv, [](auto&& run) { run(); });
}
