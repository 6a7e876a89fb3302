// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/iteration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "stretto/core/error.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "surrogate.hpp"

namespace stretto {
namespace {

constexpr std::string_view one_kernel_methods[] = {STRETTO_ONE_KERNEL_METHODS};

/// The steps of a run between two of its iterations. Sums are numbered as they are started.
class Recorded {
public:
    explicit Recorded(const std::vector<Step>& steps) : steps_(steps) {
        std::map<int, int> in_lane;
        int started = 0;
        for (const auto& step : steps_) {
            if (step.kind == Step::start) in_lane[step.lane] = started++;
            const bool of_sum = step.kind == Step::start || step.kind == Step::wait;
            sums_.push_back(of_sum ? in_lane.at(step.lane) : 0);
        }
    }

    std::vector<MethodIteration::Event> between(int first_iteration, int last_iteration) const {
        const auto begin = place(first_iteration), end = place(last_iteration);
        int first_sum = -1, count = 0;
        for (auto k = begin; k < end; ++k)
            if (steps_[k].kind == Step::start && counts(steps_[k]) && count++ == 0) first_sum = sums_[k];
        std::vector<MethodIteration::Event> events;
        for (auto k = begin; k < end; ++k) {
            const auto& step = steps_[k];
            if (!counts(step)) continue;
            const auto vectors = static_cast<double>(step.moved.reads + step.moved.writes);
            if (step.kind == Step::vectors && vectors == 0) continue;
            MethodIteration::Event event{step.kind, step.count, vectors, 0, 0, static_cast<double>(step.moved.writes)};
            if (step.kind == Step::start) event.sum = sums_[k] - first_sum;
            if (step.kind == Step::wait) {
                if (count == 0) continue;
                const int sum = sums_[k] - first_sum;
                event.sum = (sum % count + count) % count;
                event.lag = (event.sum - sum) / count;
            }
            events.push_back(event);
        }
        return events;
    }

private:
    static bool counts(const Step& step) { return step.kind != Step::iteration && step.phase != Phase::safeguard; }
    std::size_t place(int iteration) const {
        int seen = 0;
        for (std::size_t k = 0; k < steps_.size(); ++k)
            if (steps_[k].kind == Step::iteration && seen++ == iteration) return k;
        return steps_.size();
    }

    const std::vector<Step>& steps_;
    std::vector<int> sums_;  // of starts and waits, by step
};

}  // namespace

int MethodIteration::sums() const { return static_cast<int>(std::ranges::count(events, Step::start, &Event::kind)); }

MethodIteration trace_iteration(const std::string& spec, Formulation formulation, bool preconditioned, bool rows_on) {
    const auto [parsed, chosen, options, in_single] = choose_method(spec);
    if (in_single) throw InputError(fmt::format("{}: the model is of methods in double precision", spec));
    const Method& method = *chosen;
    const Period period = period_of(method, options);
    MpiComm alone(MPI_COMM_SELF);
    const int most = period.first + 2 * period.iterations;  // the last period may be cut short
    const int rows = 256 + 2 * most;
    std::vector<double> b(static_cast<std::size_t>(rows), 1.0), x(b.size(), 0.0);
    const double largest = largest_entry(most);
    const Diagonal A(rows, 1, largest, true), M(rows, 0.99, 1, rows_on);
    Trace trace(0);
    trace.keep_steps();
    SolveOptions solving;
    solving.method = without_safeguards(spec, largest);
    solving.rtol = 0;
    solving.max_iterations = most;
    solving.formulation = formulation;
    solving.trace = &trace;
    solving.monitor = [&](const IterationInfo&) {
        trace.add_step({Step::iteration, Phase::iteration});
        return true;
    };
    const auto result = solve<double>(alone, A, preconditioned ? AnyOperator<double>(M) : AnyOperator<double>(),
                                      {b.data(), rows, 1}, {x.data(), rows, 1}, solving);
    if (result.iterations < most || result.finished_by != method.name)
        throw InputError(fmt::format("{} ends after {} iterations by {}: there is no period to predict from", spec,
                                     result.iterations, result.finished_by));
    return {spec,
            preconditioned,
            period.iterations,
            method.vectors(options, preconditioned),
            Recorded(trace.steps()).between(period.first, period.first + period.iterations),
            std::ranges::find(one_kernel_methods, method.name) != std::end(one_kernel_methods)};
}

}  // namespace stretto
