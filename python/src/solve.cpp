// SPDX-License-Identifier: BSD-3-Clause
#include "solve.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>

#include "stretto/core/error.hpp"

namespace nb = nanobind;

namespace stretto::python {

Outcome::Outcome(std::shared_ptr<Communicator> communicator, std::string method, std::function<RunInfo()> info,
                 Result result, std::vector<Span> timeline)
    : communicator_(std::move(communicator)),
      method_(std::move(method)),
      info_(std::move(info)),
      result_(std::move(result)),
      timeline_(std::move(timeline)) {
    if (communicator_->comm().size() > 1) json();
}

const std::string& Outcome::json() {
    if (json_.empty()) json_ = result_json(communicator_->comm(), info_(), result_);
    return json_;
}

void Guest::told(double number) {
    bool on = true;
    if (!callback_.is_none())
        run([&] {
            const nb::object answer = callback_(number);
            on = !answer.is(nb::handle(Py_False));
        });
    constexpr auto now_and_then = std::chrono::milliseconds(20);  // Ctrl-C may wait for so long
    if (const auto now = Clock::now(); now - looked_ > now_and_then) {
        looked_ = now;
        const nb::gil_scoped_acquire lock;
        if (PyErr_CheckSignals() != 0) {
            PyErr_Clear();
            interrupt_ = true;
        }
    }
    if (!on) interrupt_ = true;
}

SolveOptions Guest::invited(const SolveAsked& asked) {
    if (!asked.checkpoint.empty() || !asked.resume.empty())
        throw InputError("checkpoint and resume are of single solves of sparse systems and operators: stretto.solve");
    SolveOptions options = asked;
    options.interrupt = &interrupt_;
    options.monitor = [this](const IterationInfo& at) {
        told(at.relative_residual);
        return true;  // ends by the interrupt, on all ranks
    };
    if (options.trace) options.trace = &trace_.emplace();
    return options;
}

SolveOptions Guest::invited(const SolveAsked& asked, const Comm& comm, Index rows) {
    SolveAsked rest = asked;
    rest.checkpoint = rest.resume = {};
    SolveOptions options = invited(rest);
    if (asked.checkpoint.empty() && asked.resume.empty()) return options;
    checkpoint_.emplace(comm, asked.checkpoint);
    if (!asked.resume.empty()) {
        checkpoint_->from = read_checkpoint(comm, asked.resume, rows);
        if (options.method == automatic) options.method = checkpoint_->from->method;
    }
    options.checkpoint = &*checkpoint_;
    return options;
}

std::vector<Span> Guest::timeline() {
    std::vector<Span> spans;
    if (!trace_ || trace_->spans().empty()) return spans;
    const auto first = std::ranges::min(trace_->spans(), {}, &Trace::Span::begin).begin;
    for (const auto& [name, track, begin, end, cost] : trace_->spans())
        spans.push_back({std::string(name), track, to_seconds(begin - first), to_seconds(end - first)});
    return spans;
}

SolveAsked solve_options(const nb::dict& given) {
    static Trace asked(0);  // whoever is invited has one of its own
    static const Readers<SolveAsked> readers{
        {"method", reads<&SolveOptions::method>},
        {"rtol", reads<&SolveOptions::rtol>},
        {"atol", reads<&SolveOptions::atol>},
        {"maxiter", reads<&SolveOptions::max_iterations>},
        {"basic",
         [](SolveAsked& of, nb::handle value) {
             of.formulation = taken<bool>(value) ? Formulation::basic : Formulation::merged;
         }},
        {"threads", reads<&SolveOptions::threads>},
        {"verify",
         [](SolveAsked& of, nb::handle value) {
             of.verify = taken<bool>(value) ? Verify::true_residual : Verify::recurrence;
         }},
        {"last",
         [](SolveAsked& of, nb::handle value) { of.iterate = taken<bool>(value) ? Iterate::last : Iterate::best; }},
        {"zero_guess", reads<&SolveOptions::zero_guess>},
        {"history", reads<&SolveOptions::history>},
        {"timeline", [](SolveAsked& of, nb::handle value) { of.trace = taken<bool>(value) ? &asked : nullptr; }},
        {"true_history", reads<&SolveOptions::true_history>},
        {"checkpoint", reads<&SolveAsked::checkpoint>},
        {"resume", reads<&SolveAsked::resume>},
    };
    SolveAsked options;
    read_by_name(given, readers, options);
    return options;
}

}  // namespace stretto::python
