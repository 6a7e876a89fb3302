// SPDX-License-Identifier: BSD-3-Clause
// What a system is solved with, as far as that is left open: first by its structure and what parts of an iteration
// take, then by how what was chosen got on.
#include <fmt/format.h>

#include <algorithm>

#include "candidates.hpp"
#include "linear_system_parts.hpp"
#include "local_trial.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/model/probe.hpp"
#include "stretto/system/advice.hpp"

namespace stretto {
namespace {

// What a direct solve takes that was not counted is known to a factor like this.
constexpr double in_sight = 4;
constexpr double usual_rtol = 1e-8;  // the tolerance is not known before a solve: what is mostly asked for

/// Whether a method, or one that is still open, runs with a preconditioner.
bool suits(const std::string& asked, const std::string& precond) {
    if (asked == automatic) return true;
    const Method& method = *choose_method(without_automatic(asked)).method;
    const auto M = choose_preconditioner(precond, MatrixKind::sparse);
    return (method.needs == Needs::any || M.symmetric()) && (!method.transpose || M.kind->has_transpose);
}

}  // namespace

/// Before anything is measured: the family, and the steps of preparation.
void LinearSystem::Parts::choose_by_structure() {
    static_cast<NextStep&>(choice) = choices(structure, comm.size()).front();
    chosen_precond = options.precond == automatic;
    if (chosen_precond && options.prepare.empty()) options.prepare = choice.prepare;
    if (!chosen_precond) choice.precond = options.precond;
    choice.prepare = options.prepare;
    if (!suits(choice.method, choice.precond)) choice.method = "bicgstab";
}

const PartTimes& LinearSystem::Parts::times(int columns) {
    const auto& A = prepared->matrix();
    sizes.rows = static_cast<double>(A.rows());
    sizes.nonzeros = static_cast<double>(A.nonzeros());
    sizes.ranks = comm.size();
    if (choice.parts.columns != columns || choice.parts.product == 0)
        choice.parts = part_times(comm, A, columns, options.machine ? &*options.machine : nullptr);
    return choice.parts;
}

/// Seconds of one use of the preconditioner there is, by what it moves and waits for, or what is known of its kind: a
/// product that is quick for its few bytes has a bandwidth that others exceed.
double LinearSystem::Parts::preconditioner_seconds() const {
    if (!preconditioner.get()) return 0;
    const double moves = choice.parts.preconditioner(all_max(comm, preconditioner.bytes(choice.parts.columns)));
    const auto known = choice.parts.of_machine ? std::nullopt : assumed_use(sizes, choice.parts, options.precond);
    return std::min(moves, known.value_or(moves)) + preconditioner_reductions() * choice.parts.reduction;
}

/// Its own in one use, which nothing hides.
int LinearSystem::Parts::preconditioner_reductions() const {
    return preconditioner.get() ? preconditioner.reductions() : 0;
}

/// What may solve the system, by all that is known of it; without what the methods asked for do not take.
std::vector<Expectation> LinearSystem::Parts::candidates_now() const {
    auto ranked = candidates(structure, sizes, choice.parts);
    std::erase_if(ranked, [&](const Expectation& each) {
        return !std::ranges::all_of(options.methods,
                                    [&](const std::string& asked) { return suits(asked, each.step.precond); });
    });
    if (ranked.empty()) ranked.emplace_back();
    return ranked;
}

/// Collective. Some iterations with Jacobi's preconditioner on each rank's rows alone, and a symbolic factorisation of
/// them, as far as the budget goes: a part of what the solve is expected to take.
void LinearSystem::Parts::try_and_count(std::vector<Expectation>& ranked) {
    constexpr double to_start = 4e-5, few = 10, most = 60;  // seconds; iterations
    const auto& A = prepared->matrix();
    const auto& parts = choice.parts;
    double budget = options.trial_budget * ranked.front().seconds();
    if (comm.size() > 1) budget -= parts.reduction;  // what ranks have found out
    const auto direct = std::ranges::find_if(ranked, [](const Expectation& each) { return is_direct(each.step); });
    const double counting = seconds_to_count(structure, sizes);
    const bool counts =
        direct != ranked.end() && direct->seconds() < in_sight * ranked.front().seconds() && counting < budget;
    if (counts) budget -= counting;
    const bool twice = !structure.symmetric();
    const double iteration = (twice ? 2 : 1) * parts.product / parts.columns +
                             (twice ? 20 : 12) * (parts.vector / parts.columns + parts.kernel);
    const double iterations = std::min(most, std::floor((budget - to_start) / iteration));
    const bool tries =
        !sizes.difficulty && iterations >= few && (!structure.symmetric() || structure.may_be_definite());
    if (!counts && !tries) return;
    LocalFindings mine;
    if (counts) mine.factors = count_factors(A);
    if (tries)
        mine.trial = try_jacobi(A, !twice, !structure.null_vectors.empty(), static_cast<int>(iterations), usual_rtol);
    const auto [factors, trial] = of_all_ranks(comm, mine);
    if (counts) know_factors(factors);
    if (tries && trial.indefinite) {
        not_definite = true;
        choice.trials.emplace_back("not definite: a few iterations of CG on the rows of a rank show it");
        ranked = indefinite_candidates(structure, sizes, parts);
        return;
    }
    if (tries) {
        sizes.difficulty = difficulty_after(trial, structure, sizes, usual_rtol);
        choice.trials.push_back(
            fmt::format("trial: {} iterations with jacobi on the rows of a rank come to a relative residual of {:.1e}",
                        trial.iterations, trial.residual));
    }
    ranked = candidates_now();
}

void LinearSystem::Parts::know_factors(const FactorCounts& factors) {
    sizes.factors = factors;
    const double entries = 2 * factors.entries * comm.size();
    choice.trials.push_back(fmt::format("complete factors: {:.3g} entries, {:.3g} for each of A", entries,
                                        entries / std::max(1.0, sizes.nonzeros)));
}

/// Collective. While an attempt runs, the rest of which takes so many seconds: a symbolic factorisation, where a direct
/// solve may be the quicker and it takes no more than `most`. Whether it was made.
bool LinearSystem::Parts::count_within(double most, double rest) {
    const bool direct = std::ranges::any_of(choice.runners_up, [&](const Expectation& each) {
        return !each.left && is_direct(each.step) && each.seconds() < in_sight * rest;
    });
    if (options.trial_budget == 0 || sizes.factors || !direct || seconds_to_count(structure, sizes) > most)
        return false;
    know_factors(of_all_ranks(comm, {.factors = count_factors(prepared->matrix()), .trial = {}}).factors);
    return true;
}

/// The preconditioner, where it is left open.
void LinearSystem::Parts::choose() {
    if (!chosen_precond) return make_preconditioner();
    const auto start = Clock::now();
    times(options.columns);
    look_at_rows(prepared->matrix(), sizes);
    sizes.difficulty = difficulty_by_dominance(prepared->matrix(), usual_rtol);
    auto ranked = candidates_now();
    if (options.trial_budget > 0 && ranked.size() > 1) try_and_count(ranked);
    choice.expected = ranked.front();
    choice.runners_up.assign(ranked.begin() + 1, ranked.end());
    const auto prepare = choice.prepare;
    static_cast<NextStep&>(choice) = choice.expected.step;
    choice.prepare = prepare;
    options.precond = choice.precond;
    choice.seconds = all_max(comm, to_seconds(Clock::now() - start));
    if (make(choice.expected)) return;
    const std::string refused = choice.expected.ended;
    if (!take_next(Status::breakdown, 0, std::string(automatic))) throw InputError(refused);
}

/// Collective. How reductions advance behind work, where the solve is expected to wait for them so long that to find
/// out is within the budget.
void LinearSystem::Parts::choose_progress() {
    constexpr double probing = 0.05;  // seconds, at most
    auto* const mpi = dynamic_cast<MpiComm*>(&comm);
    const double waiting = choice.expected.iterations * choice.parts.reduction;
    if (!mpi || !options.probe || comm.size() == 1 || choice.parts.of_machine || mpi->progresses() ||
        options.trial_budget * waiting < probing)
        return;
    options.probe = false;
    const auto found = probe(comm, *mpi);
    mpi->set_progress(found.choice());
    choice.parts.remains = found.hides() ? std::clamp(found.remains(), 0.0, 1.0) : 1;
    choice.trials.push_back("progress mode " + to_string(found));
}

/// The method, or its depth, where that is left open: `method` becomes the name of one, or stays `auto`.
void LinearSystem::Parts::settle(std::string& method, int columns) {
    const bool open = method == automatic;
    if (!open && !has_automatic_depth(method)) {
        if (chosen_precond) choice.method = method;
        return;
    }
    const auto start = Clock::now();
    times(columns);
    choose_progress();
    const double seconds = preconditioner_seconds();
    if (!open) {
        method = choice.method = with_depth(choice.parts, method, seconds);
        choice.why = why_method(choice.parts, method, seconds, preconditioner_reductions());
        choice.reasons = {choice.why};
        return;
    }
    choice.expected = chosen_precond ? choice.expected : expectation(structure, sizes, choice.parts, choice);
    choose_method_of_family(seconds);
    choice.seconds += all_max(comm, to_seconds(Clock::now() - start));
}

/// The method, for the preconditioner there is, one use of which takes so many seconds.
void LinearSystem::Parts::choose_method_of_family(double seconds) {
    const std::string classic(find_method(parse_spec(choice.method).name).classic);
    choice.methods = rank_methods(choice.parts, classic, choice.precond, seconds, choice.expected.iterations,
                                  !preconditioner.get() || preconditioner.has_transpose());
    const auto& first = choice.methods.front();
    choice.method = choice.expected.step.method = first.step.method;
    choice.expected.iteration = first.iteration;
    choice.expected.outside = first.outside;
    const auto of_method = why_method(choice.parts, choice.method, seconds, preconditioner_reductions());
    if (!chosen_precond) choice.why = of_method;
    choice.reasons = {choice.why};
    if (chosen_precond) choice.reasons.push_back(of_method);
    choice.reasons.insert(choice.reasons.end(), choice.trials.begin(), choice.trials.end());
}

/// What would be tried next; null: nothing is left.
const Expectation* LinearSystem::Parts::next_candidate() const {
    if (!chosen_precond) return nullptr;
    const auto found = std::ranges::find(choice.runners_up, false, &Expectation::left);
    return found == choice.runners_up.end() ? nullptr : &*found;
}

/// How hard the system is if the attempt that runs takes so many iterations; nothing: it does not tell.
std::optional<double> LinearSystem::Parts::difficulty_by(double iterations) const {
    return difficulty(structure, sizes, choice.expected.step, iterations);
}

/// What has not been tried is expected to take what a system so hard takes.
void LinearSystem::Parts::expect_of(std::optional<double> difficulty) {
    if (!difficulty) return;
    auto now = sizes;
    now.difficulty = difficulty;
    for (auto& each : choice.runners_up) {
        if (each.left) continue;
        const double at_first = each.seconds_at_first();
        each = expectation(structure, now, choice.parts, each.step);
        each.at_first = at_first;
    }
    std::ranges::stable_sort(choice.runners_up, {}, &Expectation::seconds);
}

/// Collective. Makes the preconditioner of a candidate, for its method. False: it cannot be made. What it takes is
/// added to what others took.
bool LinearSystem::Parts::make(Expectation& candidate) {
    choice.method = candidate.step.method;
    candidate.ended.clear();
    const double before = precond_seconds;
    const auto start = Clock::now();
    try {
        options.precond = candidate.step.precond;
        preconditioner.set(nullptr);  // never two at a time
        make_preconditioner();
    } catch (const InputError& error) {
        candidate.ended = error.what();
    }
    precond_seconds = before + to_seconds(Clock::now() - start);
    return candidate.ended.empty();
}

/// Leaves what is for definite matrices out of what is to be tried, also once more, and takes in what stands others.
void LinearSystem::Parts::expect_indefinite() {
    not_definite = true;
    auto& others = choice.runners_up;
    const auto is_for_definite = [](const NextStep& step) {
        return find_method(parse_spec(step.method).name).needs == Needs::positive_definite ||
               step.precond.find("cholesky") != std::string::npos || step.precond.find("ic0") != std::string::npos;
    };
    std::erase_if(others, [&](const Expectation& each) { return !each.left && is_for_definite(each.step); });
    for (auto& each : others)
        if (each.ended == name(Status::interrupted) && is_for_definite(each.step)) each.ended = "A is not definite";
    const auto known = [&](const NextStep& step) {
        return std::ranges::any_of(others, [&](const Expectation& other) {
            return other.step.method == step.method && other.step.precond == step.precond;
        });
    };
    for (auto& each : indefinite_candidates(structure, sizes, choice.parts))
        if (!known(each.step)) others.push_back(std::move(each));
    std::ranges::stable_sort(others, {}, &Expectation::seconds);
}

/// Collective. Takes the next candidate for a method, after an attempt of so many iterations that ended so; when there
/// is none, one that was left for its rate. False: nothing is left.
bool LinearSystem::Parts::take_next(Status ended, int iterations, const std::string& method) {
    if (!chosen_precond) return false;
    if (ended == Status::indefinite_matrix || ended == Status::indefinite_preconditioner) expect_indefinite();
    auto past = choice.expected;
    past.left = true;
    past.from = Expectation::From::run;
    past.iterations = iterations;
    past.ended = name(ended);
    const auto take = [&](Expectation& each) {
        each.left = true;
        if (!suits(method, each.step.precond) || !make(each)) return false;
        std::swap(each, past);
        choice.expected = past;
        choice.expected.left = false;
        const auto prepare = choice.prepare;
        static_cast<NextStep&>(choice) = choice.expected.step;
        choice.prepare = prepare;
        if (method == automatic)
            choose_method_of_family(preconditioner_seconds());
        else
            choice.method = method;
        return true;
    };
    for (auto& each : choice.runners_up)
        if (!each.left && take(each)) return true;
    for (auto& each : choice.runners_up) {
        if (each.ended == name(Status::interrupted) && take(each)) return true;
    }
    if (!preconditioner.get()) (void)make(choice.expected);
    return false;
}

}  // namespace stretto
