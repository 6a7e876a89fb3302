// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "matrix.hpp"
#include "one_kernel.hpp"
#include "others.hpp"
#include "precond.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/execute/device/vectors.hpp"
#include "stretto/system/device.hpp"

namespace stretto {

template <class X, class D>
struct NegateElement {
    static constexpr std::string_view name = "negate";
    const OnDevice<X, D>* from;
    OnDevice<X, D>* to;
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::size_t i) const {
        block.at(to + i) = -block.at(from + i);
    }
};

/// Methods on vectors of the device D, for b and x on the host or there.
template <class D>
class SolverOn final : public HostedSolver {
public:
    using T = OnDevice<double, D>;

    SolverOn(const CsrMatrix<double>& A, const Preconditioner* M, int columns, const SolveOptions& options)
        : trace_(options.trace), A_(A, columns), comm_(A.comm()) {
        if (M) M_.emplace(*M, A_);
        if (may_be_one_kernel<T>(parse_spec(options.method).name) && columns == 1 && A.comm().size() == 1 &&
            A.local_rows() > 0 && !options.trace && !options.monitor && !options.true_history && !options.checkpoint &&
            WithinKernels<D>::wanted(A.local_rows()))
            A_.set_within_kernels(&within_.emplace(A));
        solver_.emplace(A.comm(), A_, M_ ? AnyOperator<T>(*M_) : AnyOperator<T>(), A.local_rows(), columns, options);
    }

    const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) override {
        T *const of = room(b_, b.size()), *const to = room(x_, x.size());
        if (trace_) D::record(true);
        D::upload(of, b.data(), b.size() * sizeof(double));
        D::upload(to, x.data(), x.size() * sizeof(double));
        const Result& result = run(of, to, b.rows(), b.columns(), transposed);
        D::download(to, x.data(), x.size() * sizeof(double));
        keep_trace();
        return result;
    }
    const Result& solve_there(const VectorsThere& b, const VectorsThere& x, bool negated, bool transposed) override {
        Others<D>::settle();
        agree(comm_, [&] {
            for (const auto& [name, v] : {std::pair("b", b), std::pair("x", x)})
                if (v.size() > 0 &&
                    !Others<D>::has(reinterpret_cast<const void*>(v.address), v.size() * sizeof(double)))
                    throw InputError(fmt::format("{} is not in the memory of the device {} that rank {} has, number {}",
                                                 name, D::name, comm_.rank(), Others<D>::number()));
        });
        // Neighbouring values travel in pairs: what does not begin and end with one is copied.
        const auto pairs = [](const VectorsThere& v) {
            return v.size() % 2 == 0 && v.address % (2 * sizeof(double)) == 0;
        };
        const auto copy = [](const T* from, T* to, std::size_t size) {
            for_each_on_device<D>(size, CopyElement<double, D>{from, to, 1});
        };
        const T* of = reinterpret_cast<const T*>(b.address);
        T *const given = reinterpret_cast<T*>(x.address), *const to = pairs(x) ? given : room(x_, x.size());
        if (trace_) D::record(true);
        if (negated || !pairs(b)) {
            T* const mine = room(b_, b.size());
            if (negated)
                for_each_on_device<D>(b.size(), NegateElement<double, D>{of, mine});
            else
                copy(of, mine, b.size());
            of = mine;
        }
        if (to != given) copy(given, to, x.size());
        const Result& result = run(of, to, b.rows, b.columns, transposed);
        if (to != given) copy(to, given, x.size());
        D::wait();
        keep_trace();
        return result;
    }
    void set_tolerances(double rtol, double atol, int max_iterations) override {
        solver_->set_tolerances(rtol, atol, max_iterations);
    }
    void forget() override { solver_->forget(); }

private:
    using Array = DeviceArray<double, D>;

    static T* room(Array& array, std::size_t size) {
        if (array.size() < size) array = Array(size);
        return array.data();
    }
    const Result& run(const T* b, T* x, Index rows, int columns, bool transposed) {
        const MultiVector<const T> of(b, rows, columns);
        const MultiVector<T> to(x, rows, columns);
        return transposed ? solver_->solve_transposed(of, to) : solver_->solve(of, to);
    }
    void keep_trace() {
        if (!trace_) return;
        for (const auto& [name, copy, begin, end] : D::recorded()) trace_->add_on_device(name, copy, begin, end);
        D::record(false);
    }

    Trace* trace_;
    std::optional<WithinKernels<D>> within_;
    DeviceMatrix<double, D> A_;
    Comm& comm_;
    std::optional<DevicePreconditioner<double, D>> M_;
    Array b_, x_;  // copies, where such are needed
    std::optional<Solver<T>> solver_;
};

}  // namespace stretto
