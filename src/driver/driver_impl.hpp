// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver.hpp"
#include "finish_impl.hpp"
#include "stretto/comm/collective.hpp"
#include "verify_impl.hpp"

namespace stretto {
namespace {

// A run that gains less than this hands over to the classic method of the family, unless it broke down: that is bad
// luck which another shadow vector may end, so many times.
constexpr double good_gain = 10;
constexpr int breakdowns = 3;
// Runs of the classic method that gain less than this use up a column's credit; then it ends, as the last of them did.
constexpr double least_gain = 2;
constexpr int credit = 6;
constexpr int price_of_passing = 4;  // where the recurrence did gain: the limit of double precision
constexpr int price_of_ending = 2;
constexpr int price_of_breakdown = 1;
constexpr int forgiven = 2;  // breakdowns, then a column goes on past what nearly vanishes

/// What goes on where this method cannot; nothing is its own refuge.
const Method& next(const Method& method, const Options& given) {
    const std::string_view refuge = method.hands_over ? given.choice("refuge") : method.classic;
    return find_method(refuge == method.name ? method.classic : refuge);
}

}  // namespace

template <class T>
Driver<T>::Driver(Comm& comm, const MethodChoice& asked, AnyOperator<T> A, AnyOperator<T> M, Index rows, int columns,
                  const SolveOptions& options, int together)
    : spec_(asked.spec),
      asked_(asked.method),
      asked_options_(asked.options),
      options_(options),
      A_given_(A),
      M_given_(M),
      A_transposed_(A),
      M_transposed_(M),
      V_(comm, rows, columns, vectors_at_first(static_cast<bool>(M), asked.in_single), options.threads,
         options.formulation, together),
      A_(A, V_, Kernel::apply),
      M_(M, V_, Kernel::precondition),
      At_(A_transposed_, V_, Kernel::apply),
      Mt_(M ? AnyOperator<T>(M_transposed_) : AnyOperator<T>(), V_, Kernel::precondition),
      own_(rows, columns * together,
           1 + asked_->hands_over + options.true_history + Projection<T>::vectors_stored(options.null_space),
           options.threads),
      null_space_(V_, options.null_space ? options.null_space->vectors() : std::vector<std::vector<double>>(), own_),
      left_null_space_(options.null_space && !options.null_space->of_transpose()
                           ? Projection<T>(V_, options.null_space->left(), own_)
                           : null_space_),
      best_x_(own_.take()),
      progress_(static_cast<std::size_t>(columns)),
      columns_(columns),
      recorder_(V_.ledger(), columns_),
      stop_(V_, columns_, recorder_, kept_),
      squares_(columns),
      method_(asked_),
      method_options_(asked_options_) {
    result_.columns.resize(progress_.size());
    result_.parts.reserve(Recorder<Number<T>>::most_parts);
    if (null_space_ || left_null_space_) projected_b_ = own_.take();
    V_.watch(options.interrupt);
    if (asked_->hands_over) stop_.keep_direction(own_.take());
    if (options.history) recorder_.keep_history();
    if (options.true_history) {
        true_r_ = own_.take();
        recorder_.keep_true_history([this] {
            const auto phase = V_.ledger().enter(Phase::safeguard);
            return true_squares(true_r_);
        });
    }
    if (A_.has_residual()) (void)A_.norm_bound();  // which matrices keep: it is of the set-up, not of the first solve
    recorder_.tell(options.monitor);
    stop_.checkpoints().keep_in(options.checkpoint);
    if constexpr (std::same_as<T, Number<T>>)
        if (asked.in_single)
            single_ = std::make_unique<InSingle<T>>(V_, A_given_, M_given_, most_vectors(static_cast<bool>(M)),
                                                    asked_->transpose, columns_, recorder_, kept_);
}

/// The most that is stored at once by a method or those that may go on after it.
template <class T>
int Driver<T>::most_vectors(bool preconditioned) const {
    const auto stored = [&](const Method& method) {
        return method.vectors(options_for(spec_, method), preconditioned);
    };
    const Method& after = next(*asked_, asked_options_);
    return std::max({stored(*asked_), stored(after), stored(find_method(after.classic))});
}

template <class T>
const Result& Driver<T>::run(MultiVector<const T> b, MultiVector<T> x, bool transposed) {
    if (transposed && !(A_.has_transpose() && M_.has_transpose()))
        throw InputError(
            fmt::format("a transposed solve needs products with {}, which this {} does not have "
                        "(apply_transpose)",
                        A_.has_transpose() ? "M⁻ᵀ" : "Aᵀ", A_.has_transpose() ? "preconditioner" : "operator"));
    const auto start = Clock::now();
    V_.reset();
    const auto recording = V_.comm().record_in(V_.ledger());
    V_.ledger().trace_to(options_.trace);
    transposed_ = transposed;
    b_ = {const_cast<T*>(b.data()), b.rows(), b.columns()};  // methods read it only
    x_ = x;
    begin(complaint(V_.comm().rank(), V_.rows(), V_.columns(), b, x));
    bool stuck = false;
    while (unfinished() && !columns_.out_of_iterations() && !interrupted()) {
        attempt(stuck);
        stuck = assess();
    }
    finish();
    result_.solve_seconds = to_seconds(Clock::now() - start);
    return result_;
}

template <class T>
void Driver<T>::begin(const std::string& complaint) {
    std::optional<Snapshot> from;
    if (options_.checkpoint) from = std::exchange(options_.checkpoint->from, std::nullopt);
    resumes_ = from.has_value();
    std::ranges::fill(progress_, Column{});
    columns_.reset(options_.max_iterations, resumes_ ? from->iteration : 0);
    recorder_.reset();
    stop_.reset();
    result_.resumed_after = columns_.iteration();
    result_.vectors = 0;
    result_.verified = true;
    result_.projected = false;
    fell_back_ = false;
    in_single_ = single_ && !transposed_;
    if (single_ && !in_single_) V_.grow(most_vectors(static_cast<bool>(M_)));
    if (in_single_) single_->begin();
    method_ = asked_;
    method_options_ = asked_options_;
    if (poisoned_) V_.clear_workspace();
    poisoned_ = false;
    if (from) go_on_from(*from, complaint);
    if (complaint.empty()) stop_.checkpoints().begin(std::move(from), x_);

    squares_ = first_residual(complaint);
    residual_is_known_ = true;
    for (int j = 0; j < V_.width(); ++j) columns_[j].initial = std::sqrt(double{real_part(squares_[j])});
    take(squares_);
    recorder_.iteration_done();
}

/// Checks that it is of such a system. The method goes on that ran.
template <class T>
void Driver<T>::go_on_from(const Snapshot& from, const std::string& complaint) {
    const std::size_t size = b_.size() * sizeof(Number<T>) / sizeof(double);
    agree(V_.comm(), [&] {
        const bool fits = !from.vectors.empty() && from.columns == V_.width() &&
                          from.is_complex != std::same_as<Number<T>, double> &&
                          std::ranges::all_of(from.vectors, [&](const auto& values) { return values.size() == size; });
        if (complaint.empty() && !fits)
            throw InputError(
                fmt::format("the checkpoint is of another system: it has {} {} columns and {} numbers in x on rank {}, "
                            "not {} {} and {}",
                            from.columns, from.is_complex ? "complex" : "real",
                            from.vectors.empty() ? 0 : from.vectors.front().size(), V_.comm().rank(), V_.width(),
                            std::same_as<Number<T>, double> ? "real" : "complex", size));
    });
    const Method& after = next(*asked_, asked_options_);
    for (const Method* method : {&after, &find_method(after.classic)}) {
        if (from.loop != method->name || from.loop == asked_->name || in_single_) continue;
        method_ = method;
        method_options_ = options_for(spec_, *method);
        break;
    }
    std::string alone;
    if (from.precond != options_.checkpoint->precond)
        alone =
            fmt::format(", from x alone: its preconditioner was {}", from.precond.empty() ? "another" : from.precond);
    else if (from.loop != method_->name && !from.has_directions)
        alone = ", from x alone: its method is another";
    recorder_.event(fmt::format("going on from a checkpoint of {}{}", from.loop, alone));
}

template <class T>
void Driver<T>::attempt(bool stuck) {
    store_best();
    columns_.begin_run([&](int j) { return at(j).finished ? NAN : at(j).residual; });
    if (columns_.run() > 0) kept_.forget();  // what it learnt did not serve it well
    if (poisoned_) V_.clear_workspace();
    residual_is_known_ = residual_is_known_ && !poisoned_;
    poisoned_ = false;
    if (in_single_ && !residual_is_known_) squares_ = trusted_squares(residual_vector());
    const auto began = Clock::now();
    {
        const auto watch = V_.ledger().time(Kernel::small);
        recorder_.begin_run(method_->name);
        if (!in_single_)
            run_in_double(stuck);
        else if constexpr (std::same_as<T, Number<T>>)
            single_->run(*method_, method_options_, stuck, residual_vector(), x_);
    }
    const bool left = columns_.any_active();  // between two iterations, with a snapshot where it was interrupted
    stop_.checkpoints().end_run();
    recorder_.end_run();
    if (options_.trace) options_.trace->add_method(method_->name, began, Clock::now());
    result_.vectors = std::max(result_.vectors, in_single_ ? single_->vectors_taken() : V_.workspace().taken());
    V_.take_back();
    for (int j = 0; j < V_.width(); ++j)
        if (at(j).finished) restore_best(j);
    for (const auto& column : columns_)
        poisoned_ = poisoned_ || (column.state == State::broken && column.reason == Status::not_finite);
    verify();
    if (unfinished() && (in_single_ || (interrupted() && !left)))
        stop_.tell_checkpoint(stop_.checkpoints().between_runs(options_.method, method_->name, x_, interrupted()));
}

template <class T>
void Driver<T>::run_in_double(bool stuck) {
    stop_.begin(method_options_, stuck,
                residual_is_known_ ? std::optional<MultiVector<T>>(residual_vector()) : std::nullopt, squares_);
    stop_.checkpoints().begin_run(options_.method, method_->name, x_);
    text_of<T> (*method_)(V_, A(), M(), b_, x_, stop_);
}

/// What is left of the residual is for double precision.
template <class T>
void Driver<T>::leave_single() {
    recorder_.event(fmt::format("{} in single precision gained less than a factor of {}: going on in double",
                                method_->name, good_gain));
    in_single_ = residual_is_known_ = false;
    V_.grow(most_vectors(static_cast<bool>(M_)));
}

/// Keeps the iterates that are in x alone, where the next attempt may lose them: the best ones, and those of columns
/// that are done, which change where M takes zero to what is not finite.
template <class T>
void Driver<T>::store_best() {
    for (int j = 0; j < V_.width(); ++j) {
        auto& column = at(j);
        if (column.best != Column::in_x || (!column.finished && options_.iterate == Iterate::last)) continue;
        const bool zero = columns_.run() < 0 && x_is_zero_;
        if (!zero) V_.copy_column(x_, best_x_, j);
        column.best = zero ? Column::zero : Column::in_store;
    }
}
template <class T>
void Driver<T>::restore_best(int j) {
    if (at(j).best == Column::in_store) V_.copy_column(best_x_, x_, j);
    if (at(j).best == Column::zero) V_.clear_column(x_, j);
}

/// Whether some column got nowhere, where it did not hand over.
template <class T>
bool Driver<T>::gained_little() const {
    for (int j = 0; j < V_.width(); ++j) {
        const auto& column = progress_[static_cast<std::size_t>(j)];
        if (!column.finished && !(column.gain >= good_gain) && columns_[j].state != State::handed_over) return true;
    }
    return false;
}

/// Decides, after an attempt, what columns end and whether to go on with the classic method. True: some
/// column got nowhere.
template <class T>
bool Driver<T>::assess() {
    bool stuck = false, asked = false, hand_over = false;
    if (in_single_ && gained_little() && !interrupted() && !columns_.out_of_iterations()) {
        leave_single();
        return false;
    }
    const bool classic = method_->name == method_->classic;
    for (int j = 0; j < V_.width(); ++j) {
        auto& column = at(j);
        if (column.finished) continue;
        const auto& run = columns_[j];
        if (!in_single_) explain(j, run);
        const bool poor = !(column.gain >= good_gain || run.state == State::handed_over);
        const bool broke_down = run.state == State::broken && run.reason == Status::breakdown;
        column.breakdowns = poor && broke_down ? column.breakdowns + 1 : 0;
        stuck = stuck || poor;
        asked = asked || run.state == State::handed_over;
        hand_over = hand_over || (poor && (!broke_down || column.breakdowns >= breakdowns));
        if (run.state == State::active) continue;
        const bool beyond = run.state == State::passed || run.state == State::attained;
        const int price = broke_down                    ? price_of_breakdown
                          : run.state == State::stalled ? credit
                          : beyond                      ? price_of_passing
                                                        : price_of_ending;
        column.used = column.gain >= least_gain ? 0 : column.used + price;
        if (column.used >= forgiven * price_of_breakdown && broke_down && !std::exchange(columns_[j].lenient, true)) {
            recorder_.event(of_column(j, V_.width()) + "going on past what nearly vanishes");
            column.used = 0;
        }
        if (classic && column.used >= credit)
            end(j, beyond ? Status::stagnated : run.state == State::stalled ? Status::gave_up : run.reason);
    }
    if ((asked || (hand_over && !classic)) && !interrupted() && !columns_.out_of_iterations()) {
        const Method& after = next(*method_, method_options_);
        recorder_.event(asked ? fmt::format("going on with {}", after.name)
                              : fmt::format("{} gained less than a factor of {}: going on with {}", method_->name,
                                            good_gain, after.name));
        go_on_with(after);
    }
    return stuck;
}

template <class T>
void Driver<T>::go_on_with(const Method& method) {
    if (!fell_back_) per_iteration_ = per_iteration();
    fell_back_ = true;
    method_ = &method;
    method_options_ = options_for(spec_, method);
    for (auto& column : progress_) column.used = 0;
}

}  // namespace stretto
