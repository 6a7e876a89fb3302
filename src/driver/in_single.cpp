// SPDX-License-Identifier: BSD-3-Clause
#include "in_single.hpp"

#include <algorithm>

#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

/// Calls work(begin, end) for the rows of each thread.
template <class Work>
void each_share(Index rows, int threads, Work&& work) {
    parallel(threads, [&](int t, int of) {
        const RowShare mine(static_cast<std::size_t>(rows), t, of);
        work(mine.begin, mine.end);
    });
}

template <class From, class To>
void convert(MultiVector<From> from, MultiVector<To> to, int threads) {
    const auto m = static_cast<std::size_t>(from.columns());
    each_share(from.rows(), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin * m; i < end * m; ++i) to.data()[i] = static_cast<To>(from.data()[i]);
    });
}

template <class T>
MethodText<Single<T>> text_in_single(const Method& method) {
    if constexpr (is_complex<T>)
        return method.complex.run_single;
    else
        return method.run_single;
}

}  // namespace

template <class T>
void Converted<T>::convert_around(MultiVector<Single<T>> x, MultiVector<Single<T>> y, Product product) const {
    convert(x, x_[0], threads_);
    (A_.*product)(x_[0], y_[0]);
    convert(y_[0], y, threads_);
}
template <class T>
double Converted<T>::bytes(int columns) const {
    const auto values = static_cast<double>(x_[0].rows()) * columns;
    return A_.bytes(columns) + 2 * values * (sizeof(Single<T>) + sizeof(T));
}

template <class T>
InSingle<T>::InSingle(Space<T>& V, const AnyOperator<T>& A, const AnyOperator<T>& M, int vectors, bool transposes,
                      Columns& standing, Recorder<T>& recorder, Kept& kept)
    : A_in_double_(A),
      M_in_double_(M),
      columns_(standing),
      V_(V, vectors),
      own_(V.rows(), V.columns(), 3, V.threads()),
      b_(own_.take()),
      d_(own_.take()),
      stop_(V_, columns_, recorder, kept),
      transposes_(transposes) {
    stop_.keep_direction(own_.take());
    begin();
}

template <class T>
void InSingle<T>::begin() {
    const auto prepare = [&](const AnyOperator<T>& op, std::optional<Converted<T>>& converted) {
        if (!op) return OwnedOperator<S>{};
        auto single = op.in_single();
        if (single.op && (single.op.has_transpose() || !transposes_)) return single;
        if (!converted) converted.emplace(op, V_.rows(), V_.columns(), V_.threads());
        return OwnedOperator<S>{AnyOperator<S>(*converted), nullptr};
    };
    A_ = prepare(A_in_double_, A_converted_);
    M_ = prepare(M_in_double_, M_converted_);
    stop_.reset();
}

template <class T>
void InSingle<T>::run(const Method& method, const Options& options, bool fresh_shadow, MultiVector<T> r,
                      MultiVector<T> x) {
    const int width = V_.width(), columns = V_.columns(), together = columns / width;
    std::vector<double> target(static_cast<std::size_t>(width)), unit(static_cast<std::size_t>(columns), 1);
    auto squares = V_.scalars();
    for (int j = 0; j < width; ++j) {
        auto& column = columns_[j];
        target[static_cast<std::size_t>(j)] = column.target;
        if (!columns_.active(j) || !(column.start > 0)) continue;
        columns_.measure_in(j, column.start);
        column.target = std::max(column.target, aim);
        squares[j] = 1;
        std::fill_n(unit.begin() + j * together, together, column.unit);
    }
    const auto left = V_.workspace()[0];
    const auto m = static_cast<std::size_t>(columns);
    each_share(V_.rows(), V_.threads(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin * m; i < end * m; i += m)
            for (std::size_t j = 0; j < m; ++j) {
                left.data()[i + j] = b_.data()[i + j] = static_cast<S>(r.data()[i + j] / unit[j]);
                d_.data()[i + j] = 0;
            }
    });
    const LinearMap<S> A(A_.op, V_, Kernel::apply), M(M_.op, V_, Kernel::precondition);
    stop_.begin(options, fresh_shadow, left, squares);
    text_in_single<T>(method)(V_, A, M, b_, d_, stop_);
    taken_ = std::max(taken_, V_.workspace().taken());
    V_.take_back();
    const auto broken = [](const Columns::Column& column) { return column.state == Columns::State::broken; };
    if (std::ranges::any_of(columns_, broken)) V_.clear_workspace();  // it may hold what is not finite
    each_share(V_.rows(), V_.threads(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin * m; i < end * m; i += m)
            for (std::size_t j = 0; j < m; ++j) x.data()[i + j] += unit[j] * T{d_.data()[i + j]};
    });
    for (int j = 0; j < width; ++j) {
        auto& column = columns_[j];
        columns_.measure_in(j, 1);
        column.target = target[static_cast<std::size_t>(j)];
        if (column.state != Columns::State::passed || column.recursive <= column.target) continue;
        column.state = Columns::State::active;  // it has come to the end of this run, not to that of the solve
        column.waited += columns_.iteration() - column.ended_at;
    }
}

template class InSingle<double>;
#if STRETTO_COMPLEX
template class InSingle<std::complex<double>>;
#endif

}  // namespace stretto
