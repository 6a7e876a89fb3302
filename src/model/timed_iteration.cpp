// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/model/trial.hpp"
#include "surrogate.hpp"

namespace stretto {
namespace {

/// The least over all solves of each stretch of `step` iterations from the first one on: an interruption spoils one of
/// them and not all.
class Stretches {
public:
    Stretches(int first, int last, int step)
        : first_(first), step_(step), least_(static_cast<std::size_t>((last - first) / step), INFINITY) {}
    void add(const std::vector<Clock::time_point>& ends) {
        for (std::size_t k = 0; k < least_.size(); ++k) {
            const auto at = static_cast<std::size_t>(first_) + k * static_cast<std::size_t>(step_);
            least_[k] = std::min(least_[k], to_seconds(ends[at + static_cast<std::size_t>(step_)] - ends[at]));
        }
    }
    /// Of an iteration.
    double mean() const {
        return std::accumulate(least_.begin(), least_.end(), 0.0) / (static_cast<double>(least_.size()) * step_);
    }

private:
    int first_, step_;
    std::vector<double> least_;
};

}  // namespace

std::optional<TimedIteration> time_iteration(Comm& comm, AnyOperator<double> A, AnyOperator<double> M, Index rows,
                                             int columns, const std::string& method, double norm, int threads,
                                             const Effort& effort) {
    constexpr int periods = 6;
    const Spec spec = parse_spec(method);
    const Period period = period_of(find_method(spec.name), Options(spec, find_method(spec.name).options));
    // Cycles are long enough to be timed one by one, from the first iteration of one to that of the next.
    const int first = period.restarted ? 1 : period.first;
    const int most = first + period.iterations * (period.iterations > 10 ? 1 : periods);
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    Buffer<double> b(size), x(size);
    for (std::size_t k = 0; k < size; ++k) b[k] = uniform(2 + comm.rank(), static_cast<Global>(k));
    std::vector<Clock::time_point> ends(static_cast<std::size_t>(most) + 1);
    SolveOptions options;
    options.method = without_safeguards(method, norm);
    options.rtol = 0;
    options.max_iterations = most;
    options.threads = threads;
    options.zero_guess = true;
    options.monitor = [&](const IterationInfo& at) {
        if (at.iteration <= most) ends[static_cast<std::size_t>(at.iteration)] = Clock::now();
        return true;
    };
    Solver<double> solver(comm, A, M, rows, columns, options);
    TimedIteration timed;
    // Blocks may end elsewhere in each solve.
    Stretches stretches(first, most, period.blocks ? most - first : 1);
    const auto start = Clock::now();
    for (int solve = 0; solve < effort.repetitions; ++solve) {
        const auto& result = solver.solve({b.data(), rows, columns}, {x.data(), rows, columns});
        if (result.iterations < most || result.finished_by != spec.name) return {};
        timed.account = result.per_iteration;
        stretches.add(ends);
        if (is_enough(solve + 1, all_max(comm, to_seconds(Clock::now() - start)), effort)) break;
    }
    timed.seconds = all_max(comm, stretches.mean());
    return timed;
}

TextTime time_text(const MethodIteration& iteration, Index rows, int columns, int ranks, bool rows_on) {
    constexpr Effort effort{50, 0.008};
    const double n = iteration.iterations;
    double products = 0, preconditioners = 0;
    for (const auto& event : iteration.events) {
        if (event.kind == Step::product) products += event.count / n;
        if (event.kind == Step::preconditioner) preconditioners += event.count / n;
    }
    const int most = 4 * std::max(32, iteration.iterations);
    const double largest = largest_entry(most);
    MpiComm alone(MPI_COMM_SELF);
    const auto seconds = [&](Index size) {
        const Diagonal A(size, 1, largest, true), M(size, 0.99, 1, rows_on);
        const AnyOperator<double> preconditioner = iteration.preconditioned ? AnyOperator<double>(M) : Identity{};
        const auto parts = time_parts(alone, A, preconditioner, size, columns, iteration.vectors_stored, 1, effort);
        const auto all = time_iteration(alone, A, preconditioner, size, columns, iteration.method, largest, 1, effort);
        return all.value_or(TimedIteration{}).seconds - products * parts.product -
               preconditioners * parts.preconditioner - iteration.sums() / n * parts.reduction;
    };
    const double fits = last_level_cache(ranks) / ranks / 2 / (8.0 * columns * (iteration.vectors_stored + 2));
    const Index few = most, many = std::max(4 * few, static_cast<Index>(std::min<double>(rows, fits)));
    const double at_few = seconds(few), at_many = seconds(many);
    const double value = std::max(0.0, (at_many - at_few) / ((many - few) * static_cast<double>(columns)));
    return {std::max(0.0, at_few - few * columns * value), value};
}

}  // namespace stretto
