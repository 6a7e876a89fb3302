// SPDX-License-Identifier: BSD-3-Clause
// What a system is solved with, as far as that is left open: first by its structure and what parts of an iteration
// take, then by how what was chosen got on.
#include <fmt/format.h>

#include <algorithm>

#include "candidates.hpp"
#include "linear_system_parts.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/system/advice.hpp"

namespace stretto {
namespace {

Sizes sizes_of(const CsrMatrix<double>& A) {
    return {
        .rows = static_cast<double>(A.rows()), .nonzeros = static_cast<double>(A.nonzeros()), .ranks = A.comm().size()};
}

bool symmetric_precond(const std::string& precond) {
    return choose_preconditioner(precond, MatrixKind::sparse).symmetric();
}

}  // namespace

/// Before anything is measured: the family, and the steps of preparation.
void LinearSystem::Parts::choose_by_structure() {
    static_cast<NextStep&>(choice) = choices(structure, comm.size()).front();
    chosen_precond = options.precond == automatic;
    if (chosen_precond && options.prepare.empty()) options.prepare = choice.prepare;
    if (!chosen_precond) choice.precond = options.precond;
    choice.prepare = options.prepare;
    if (find_method(choice.method).needs != Needs::any && !symmetric_precond(choice.precond))
        choice.method = "bicgstab";
}

const PartTimes& LinearSystem::Parts::times(int columns) {
    if (choice.parts.columns != columns || choice.parts.product == 0)
        choice.parts = part_times(comm, prepared->matrix(), columns, options.machine ? &*options.machine : nullptr);
    return choice.parts;
}

/// Seconds of one use of the preconditioner there is, by what it moves.
double LinearSystem::Parts::preconditioner_seconds() const {
    const double bytes = preconditioner.get() ? all_max(comm, preconditioner.bytes(choice.parts.columns)) : 0;
    return choice.parts.preconditioner(bytes);
}

/// The preconditioner, where it is left open.
void LinearSystem::Parts::choose() {
    if (!chosen_precond) return make_preconditioner();
    const auto start = Clock::now();
    auto ranked = candidates(structure, sizes_of(prepared->matrix()), times(options.columns));
    std::erase_if(ranked, [&](const Expectation& each) {  // that the methods asked for do not take
        return std::ranges::any_of(options.methods, [&](const std::string& asked) {
            return asked != automatic && choose_method(without_automatic(asked)).method->needs != Needs::any &&
                   !symmetric_precond(each.step.precond);
        });
    });
    if (ranked.empty()) ranked.emplace_back();
    choice.expected = ranked.front();
    choice.runners_up.assign(ranked.begin() + 1, ranked.end());
    const auto prepare = choice.prepare;
    static_cast<NextStep&>(choice) = choice.expected.step;
    choice.prepare = prepare;
    options.precond = choice.precond;
    choice.seconds = all_max(comm, to_seconds(Clock::now() - start));
    if (make(choice.expected)) return;
    const std::string refused = choice.expected.ended;
    if (!take_next(Status::breakdown, std::string(automatic))) throw InputError(refused);
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
    const double seconds = preconditioner_seconds();
    if (!open) {
        method = choice.method = with_depth(choice.parts, method, seconds);
        choice.reasons = {why_method(choice.parts, method, seconds)};
        return;
    }
    choice.expected =
        chosen_precond ? choice.expected : expectation(structure, sizes_of(prepared->matrix()), choice.parts, choice);
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
    choice.reasons = {choice.why, why_method(choice.parts, choice.method, seconds)};
}

/// What would be tried next; null: nothing is left.
const Expectation* LinearSystem::Parts::next_candidate() const {
    if (!chosen_precond) return nullptr;
    const auto found = std::ranges::find(choice.runners_up, false, &Expectation::left);
    return found == choice.runners_up.end() ? nullptr : &*found;
}

/// How hard the system is if the attempt that runs takes so many iterations; nothing: it does not tell.
std::optional<double> LinearSystem::Parts::difficulty_by(double iterations) const {
    return difficulty(structure, choice.expected.step, iterations);
}

/// What has not been tried is expected to take what a system so hard takes.
void LinearSystem::Parts::expect_of(std::optional<double> difficulty) {
    if (!difficulty) return;
    auto sizes = sizes_of(prepared->matrix());
    sizes.difficulty = difficulty;
    for (auto& each : choice.runners_up)
        if (!each.left) each = expectation(structure, sizes, choice.parts, each.step);
    std::ranges::stable_sort(choice.runners_up, {}, &Expectation::seconds);
}

/// Collective. Makes the preconditioner of a candidate. False: it cannot be made.
bool LinearSystem::Parts::make(Expectation& candidate) {
    try {
        options.precond = candidate.step.precond;
        preconditioner.set(nullptr);  // never two at a time
        make_preconditioner();
        candidate.setup = all_max(comm, precond_seconds);
        return true;
    } catch (const InputError& error) {
        candidate.ended = error.what();
        return false;
    }
}

/// Leaves what CG is for out of what is to be tried, and takes in what stands a matrix that is not definite.
void LinearSystem::Parts::expect_indefinite() {
    auto& others = choice.runners_up;
    std::erase_if(others, [](const Expectation& each) {
        return !each.left && find_method(parse_spec(each.step.method).name).needs == Needs::positive_definite;
    });
    const auto known = [&](const NextStep& step) {
        return std::ranges::any_of(others, [&](const Expectation& other) {
            return other.step.method == step.method && other.step.precond == step.precond;
        });
    };
    for (auto& each : indefinite_candidates(structure, sizes_of(prepared->matrix()), choice.parts))
        if (!known(each.step)) others.push_back(std::move(each));
    std::ranges::stable_sort(others, {}, &Expectation::seconds);
}

/// Collective. Takes the next candidate for a method, after an attempt that ended so; when there is none, one that was
/// left for its rate. False: nothing is left.
bool LinearSystem::Parts::take_next(Status ended, const std::string& method) {
    if (!chosen_precond) return false;
    if (ended == Status::indefinite_matrix || ended == Status::indefinite_preconditioner) expect_indefinite();
    const bool symmetric = method != automatic && choose_method(without_automatic(method)).method->needs != Needs::any;
    auto past = choice.expected;
    past.left = true;
    past.ended = name(ended);
    const double before = precond_seconds;
    const auto take = [&](Expectation& each) {
        each.left = true;
        if ((symmetric && !symmetric_precond(each.step.precond)) || !make(each)) return false;
        precond_seconds += before;
        choice.seconds += each.setup;
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
        if (each.ended != name(Status::interrupted)) continue;
        each.ended = "left, and taken up again";
        if (take(each)) return true;
    }
    if (!preconditioner.get()) (void)make(choice.expected);
    return false;
}

}  // namespace stretto
