// SPDX-License-Identifier: BSD-3-Clause
#include "automatic_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "candidates.hpp"
#include "local_trial.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/system/checkpoint_identity.hpp"

namespace stretto {
namespace {

// An attempt is left where the rest of it, at the rate it has come to, takes so many times what another is then assumed
// to take in all, and it has had so much of that time.
constexpr double worth_leaving = 1.5, had_its_time = 0.15;
// What a direct solve takes is found out for so much of what the attempt has taken, and of what it will, or, before it
// is begun, of what it is assumed to take.
constexpr double of_the_past = 0.35, of_the_rest = 0.2, of_its_time = 0.3;
constexpr int first_look = 8;
constexpr double worth_timing = 2e-3;  // seconds

std::string in_words(const NextStep& step) { return fmt::format("{} with {}", step.method, step.precond); }

}  // namespace

/// Looks now and then at how an attempt gets on. Every rank sees the same and decides the same.
class AutomaticSolver::Watch {
public:
    Watch(const AutomaticSolver& of, bool others, int before, bool again)
        : of_(of), now_(of.parts_->choice.expected), others_(others), before_(before), again_(again) {
        if (of.ran_ > 0) now_.iterations = of.ran_;
    }

    /// The monitor of the attempt.
    bool operator()(IterationInfo info) {
        const bool on = ask(info);
        if (!on || !others_) return on;
        if (from_ < 0) {
            from_ = info.iteration;
            first_ = half_ = best_ = info.relative_residual;
            start_ = seconds_on_core();
        }
        const int k = info.iteration - from_;
        best_ = std::min(best_, info.relative_residual);
        if (k < next_look_) return true;
        time(k);
        if (slow(k, info.target)) {
            left_ = true;
            return false;
        }
        half_ = best_;
        half_at_ = k;
        next_look_ = k + std::max(first_look / 2, k / 2);
        return true;
    }

    /// At the end of the attempt, on every rank.
    void end() { timing_ = {}; }

    /// Whether it was ended for another.
    bool left() const { return left_; }
    const std::string& why() const { return why_; }

private:
    /// The user's monitor, who counts the iterations of all attempts, and sees the first residual once.
    bool ask(IterationInfo& info) const {
        const auto& monitor = of_.options_.monitor;
        if (!monitor || (again_ && info.iteration == 0)) return true;
        IterationInfo told = info;
        told.iteration += before_;
        return monitor(told);
    }

    /// Until now, without what this process was ready for a core and had none: then the other attempt had none, too.
    double seconds_on_core() const {
        return timed_ ? to_seconds(Clock::now().time_since_epoch()) - waited_for_core() : 0;
    }

    /// What an iteration takes, in the mean over ranks, which is on its way from one look to the next.
    void time(int k) {
        if (!timed_ || (timed_at_ > 0 && (k - timed_at_) * now_.iteration < of_.parts_->choice.parts.reduction)) return;
        if (timed_at_ > 0) {
            timing_.wait();
            constexpr double most = 3;  // beside what is expected
            const double seconds = all_ / of_.parts_->comm.size() / timed_at_;
            iteration_ = std::clamp(seconds, now_.iteration / most, most * now_.iteration);
        }
        timed_at_ = k;
        mine_ = seconds_on_core() - start_;
        timing_ = of_.parts_->comm.start_sum({&mine_, 1}, {&all_, 1});
    }

    bool slow(double k, double to) {
        const double seconds = k * iteration_;
        // Of the least residual's logarithm, an iteration: by all, or by the last stretch, whichever says more.
        const double rate = std::max(std::log(first_ / best_) / k, std::log(half_ / best_) / (k - half_at_));
        const double so_far = std::exp(-rate * k), target = to / first_;
        const double all = iterations_at_rate(k, std::min(best_ / first_, so_far), target, now_.iterations, 0.3),
                     left = all - k;
        const double rest = left * iteration_;
        auto& parts = *of_.parts_;
        (void)parts.count_within(std::min(of_the_past * seconds, of_the_rest * rest), rest);
        const Expectation* other = nullptr;
        const auto is_quicker = [&] {
            parts.expect_of(parts.difficulty_by(all));
            other = parts.next_candidate();
            return seconds > had_its_time * other->seconds() && rest > worth_leaving * other->seconds();
        };
        if (!is_quicker()) return false;
        // Nothing is left for complete factors of which nobody knows how many there are.
        if (is_direct(other->step) && parts.count_within(of_its_time * other->seconds(), rest) && !is_quicker())
            return false;
        const auto coming = rate > 0 ? fmt::format("about {:.2g} s more", rest) : "no end in sight";
        why_ = fmt::format(
            "after {} iterations (about {:.2g} s) the residual had come to {:.1e}: {}, while {} is assumed to take "
            "{:.2g} s",
            from_ + k, seconds, best_, coming, in_words(other->step), other->seconds());
        return true;
    }

    const AutomaticSolver& of_;
    Expectation now_;
    bool others_;
    int before_;
    bool again_;
    double first_ = 1, half_ = 1, best_ = 1;  // residuals: the first, the least at the last look, the least
    int from_ = -1, half_at_ = 0, next_look_ = first_look;  // iterations
    // A machine that is given is believed, for choices to be the same every time.
    bool timed_ = !of_.parts_->choice.parts.of_machine && now_.iterations * now_.iteration > worth_timing;
    double start_ = 0, mine_ = 0, all_ = 0, iteration_ = now_.iteration;  // seconds
    int timed_at_ = 0;
    Pending timing_;
    bool left_ = false;
    std::string why_;
};

AutomaticSolver::AutomaticSolver(LinearSystem::Parts& parts, SolveOptions options, int columns)
    : parts_(&parts), options_(std::move(options)), columns_(columns) {}
AutomaticSolver::~AutomaticSolver() = default;

void AutomaticSolver::set_tolerances(double rtol, double atol, int max_iterations) {
    options_.rtol = rtol;
    options_.atol = atol;
    options_.max_iterations = max_iterations;
    solver_.reset();
}

void AutomaticSolver::forget() {
    solver_.reset();
    ran_ = 0;
}

/// A solver for what is chosen now.
void AutomaticSolver::make(int iterations_left, bool zero_guess) {
    SolveOptions options = options_;
    options.method = parts_->choice.method;
    options.threads = parts_->options.threads;
    options.null_space = parts_->null_space.removed();
    options.max_iterations = iterations_left;
    options.zero_guess = zero_guess;
    options.monitor = [this](const IterationInfo& info) { return (*watch_)(info); };
    if (options.checkpoint)
        options.checkpoint->precond =
            identity_of(parts_->options.precond, parts_->options.prepare, parts_->comm.size());
    const auto& A = parts_->prepared->matrix();
    const auto& M = parts_->preconditioner;
    solver_.emplace(parts_->comm, A, M.get() ? AnyOperator<double>(M) : AnyOperator<double>(), A.local_rows(), columns_,
                    options);
}

const Result& AutomaticSolver::solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) {
    auto& choice = parts_->choice;
    total_ = {};
    choice.changes.clear();
    for (int attempts = 1;; ++attempts) {
        const bool others = !transposed && parts_->next_candidate();
        watch_ = std::make_unique<Watch>(*this, others, total_.iterations, attempts > 1);
        if (attempts > 1 || !solver_)
            make(options_.max_iterations - total_.iterations, options_.zero_guess && attempts == 1);
        const Result& result = transposed ? solver_->solve_transposed(b, x) : solver_->solve(b, x);
        watch_->end();
        ran_ = result.iterations;
        const bool asked_to_stop = result.status == Status::interrupted && !watch_->left();
        const auto status = result.status;
        const double residual = result.relative_residual();
        if (attempts == 1)
            total_ = result;
        else
            add(result);
        if (total_.passed() || total_.status == Status::least_squares || asked_to_stop || transposed ||
            total_.iterations >= options_.max_iterations)
            break;
        std::string change = watch_->left()
                                 ? watch_->why()
                                 : fmt::format("{} ended as {} at {:.1e}", in_words(choice), name(status), residual);
        if (!parts_->take_next(status, ran_, options_.method)) break;
        ran_ = 0;
        total_.events.push_back({total_.iterations, fmt::format("{}: going on with {}", change, in_words(choice))});
        choice.changes.push_back(total_.events.back().text);
    }
    if (parts_->choice.changes.size() > 0) solver_.reset();  // its limit of iterations is that of the last attempt
    return total_;
}

/// What another attempt adds.
void AutomaticSolver::add(Result now) {
    const int before = total_.iterations;
    for (auto& event : now.events) {
        event.iteration += before;
        event.last += before;
    }
    now.events.insert(now.events.begin(), total_.events.begin(), total_.events.end());
    now.parts.insert(now.parts.begin(), total_.parts.begin(), total_.parts.end());
    now.history.insert(now.history.begin(), total_.history.begin(), total_.history.end());
    now.true_history.insert(now.true_history.begin(), total_.true_history.begin(), total_.true_history.end());
    for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard})
        now.ledger.at(phase) += total_.ledger.at(phase);
    for (std::size_t j = 0; j < now.columns.size(); ++j) now.columns[j].iterations += total_.columns[j].iterations;
    now.iterations += before;
    now.vectors = std::max(now.vectors, total_.vectors);
    now.solve_seconds += total_.solve_seconds;
    total_ = std::move(now);
}

}  // namespace stretto
