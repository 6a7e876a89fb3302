// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <exception>
#include <memory>
#include <string>

#include "communicator.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto::python {

/// Columns of vectors as methods have them: rows × columns, row-major.
using ConstColumns = nanobind::ndarray<const double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using Columns = nanobind::ndarray<double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

inline MultiVector<const double> view(const ConstColumns& x) {
    return {x.data(), static_cast<Index>(x.shape(0)), static_cast<int>(x.shape(1))};
}
inline MultiVector<double> view(const Columns& x) {
    return {x.data(), static_cast<Index>(x.shape(0)), static_cast<int>(x.shape(1))};
}

/// What a solve returned, with what its JSON tells beside it. The JSON of one process is made when asked for; of
/// several at once, for that takes them all.
class Outcome {
public:
    Outcome(std::shared_ptr<Communicator> communicator, RunInfo info, Result result);
    const Result& result() const { return result_; }
    const std::string& json();

private:
    std::shared_ptr<Communicator> communicator_;
    RunInfo info_;
    Result result_;
    std::string json_;
};

/// Lets Python into a solve that runs without its lock: its callback, Ctrl-C, and operators in Python. What they throw
/// ends the solve at its next iteration on all ranks, and is thrown when it is over.
class Guest {
public:
    /// `callback`: a function of the relative residual, or none.
    explicit Guest(nanobind::object callback) : callback_(std::move(callback)) {}

    /// The options with this guest's monitor and interrupt, which it must outlive.
    SolveOptions invited(SolveOptions options);
    /// Runs code of Python; false where it threw, now or before. What the first Ctrl-C met in the middle runs again,
    /// for the iteration to end as it should.
    template <class Work>
    bool run(Work&& work) {
        if (failure_) return false;
        try {
            const nanobind::gil_scoped_acquire lock;
            try {
                work();
            } catch (nanobind::python_error& error) {
                if (interrupt_ || !error.matches(PyExc_KeyboardInterrupt)) throw;
                interrupt_ = true;
                work();
            }
        } catch (...) {
            failure_ = std::current_exception();
            interrupt_ = true;
        }
        return !failure_;
    }
    /// Throws what was thrown meanwhile.
    void leave() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    bool told(const IterationInfo& at);

    nanobind::object callback_;
    std::atomic<bool> interrupt_ = false;
    std::exception_ptr failure_;
    Clock::time_point looked_ = Clock::now();
};

/// The options that Python gives by name; unknown ones are a TypeError.
SolveOptions solve_options(const nanobind::dict& given);

void bind_systems(nanobind::module_& m);
void bind_operators(nanobind::module_& m);
void bind_tables(nanobind::module_& m);

}  // namespace stretto::python
