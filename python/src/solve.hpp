// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "communicator.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/io/checkpoint_file.hpp"
#include "stretto/measure/trace.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto::python {

/// Columns of vectors as methods have them: rows × columns, row-major.
template <class T>
using ColumnsOf = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using ConstColumns = ColumnsOf<const double>;
using Columns = ColumnsOf<double>;

template <class T>
MultiVector<T> view(const ColumnsOf<T>& x) {
    return {x.data(), static_cast<Index>(x.shape(0)), static_cast<int>(x.shape(1))};
}

/// What ran when on this process, in seconds from the first.
struct Span {
    std::string name;
    int track;  ///< of Trace
    double begin, end;
};

/// What a solve returned, with what its JSON tells beside it. The JSON of one process is made when asked for, for it
/// takes longer than the solve of a small system; of several at once, for that takes them all.
class Outcome {
public:
    /// `info` is called with the JSON: what it refers to must stay until then.
    Outcome(std::shared_ptr<Communicator> communicator, std::string method, std::function<RunInfo()> info,
            Result result, std::vector<Span> timeline);
    const Result& result() const { return result_; }
    const std::vector<Span>& timeline() const { return timeline_; }
    const std::string& method() const { return method_; }  ///< with what was chosen
    const std::string& json();

private:
    std::shared_ptr<Communicator> communicator_;
    std::string method_;
    std::function<RunInfo()> info_;
    Result result_;
    std::vector<Span> timeline_;
    std::string json_;
};

/// What Python gives by name.
struct SolveAsked : SolveOptions {
    std::string checkpoint, resume;  ///< FILE[,every=…], FILE
};

/// Lets Python into work that runs without its lock: its callback, Ctrl-C, operators and kernels in Python, from any
/// thread. What they throw ends a solve at its next iteration on all ranks, and is thrown when it is over.
class Guest {
public:
    /// `callback`: a function of a number (the relative residual, the fraction that is done), or none.
    explicit Guest(nanobind::object callback) : callback_(std::move(callback)) {}

    /// The options with this guest's monitor, interrupt and timeline, which it must outlive.
    SolveOptions invited(const SolveAsked& asked);
    /// The same, also with checkpoints, of so many rows of this process. Collective.
    SolveOptions invited(const SolveAsked& asked, const Comm& comm, Index rows);
    const std::atomic<bool>& interrupt() const { return interrupt_; }
    void told(double number);
    /// What the last solve left; empty unless it was asked for.
    std::vector<Span> timeline();
    /// Runs code of Python; false where it threw, now or before. What the first Ctrl-C met in the middle runs again,
    /// for the iteration to end as it should. `always`: also where it threw before, for others take part in the work.
    template <class Work>
    bool run(Work&& work, bool always = false) {
        const nanobind::gil_scoped_acquire lock;
        if (failure_ && !always) return false;
        try {
            try {
                work();
            } catch (nanobind::python_error& error) {
                if (interrupt_ || !error.matches(PyExc_KeyboardInterrupt)) throw;
                interrupt_ = true;
                work();
            }
        } catch (...) {
            if (!failure_) failure_ = std::current_exception();
            interrupt_ = true;
        }
        return !failure_;
    }
    /// Throws what was thrown meanwhile.
    void leave() {
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

private:
    nanobind::object callback_;
    std::atomic<bool> interrupt_ = false;
    std::exception_ptr failure_;  // looked at under Python's lock
    Clock::time_point looked_ = Clock::now();
    std::optional<Trace> trace_;
    std::optional<CheckpointFile> checkpoint_;
};

/// What reads each option that there is into `Options`.
template <class Options>
using Readers = std::map<std::string_view, void (*)(Options&, nanobind::handle), std::less<>>;

/// A value of another type than an option has: says what is wanted.
struct Wanted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class T>
T taken(nanobind::handle value) {
    try {
        return nanobind::cast<T>(value);
    } catch (const std::bad_cast&) {
        throw Wanted(std::is_same_v<T, bool>       ? "True or False"
                     : std::is_integral_v<T>       ? "a whole number below 2**31"
                     : std::is_floating_point_v<T> ? "a number"
                                                   : "a string");
    }
}

/// Reads a member of the type that it has.
template <auto member>
constexpr auto reads = [](auto& options, nanobind::handle value) {
    options.*member = taken<std::remove_cvref_t<decltype(options.*member)>>(value);
};

/// Reads what Python gives by name; unknown names are a TypeError.
template <class Options>
void read_by_name(const nanobind::dict& given, const Readers<Options>& readers, Options& options) {
    for (const auto& [key, value] : given) {
        const auto name = nanobind::cast<std::string_view>(key);
        const auto reader = readers.find(name);
        if (reader == readers.end())
            throw nanobind::type_error(("there is no option '" + std::string(name) + "'").c_str());
        try {
            reader->second(options, value);
        } catch (const Wanted& wanted) {
            const auto text = nanobind::cast<std::string>(nanobind::repr(value));
            throw nanobind::type_error((std::string(name) + "=" + text + ": " + wanted.what() + " is wanted").c_str());
        }
    }
}
/// The options that Python gives by name.
SolveAsked solve_options(const nanobind::dict& given);
/// A table of options as a list of dictionaries.
nanobind::list describe(std::span<const OptionInfo> options);

void bind_systems(nanobind::module_& m);
void bind_vectors(nanobind::module_& m);
void bind_operators(nanobind::module_& m);
void bind_dense(nanobind::module_& m);
void bind_complex(nanobind::module_& m);
void bind_bem(nanobind::module_& m);
void bind_tables(nanobind::module_& m);

}  // namespace stretto::python
