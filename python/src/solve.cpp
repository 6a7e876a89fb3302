// SPDX-License-Identifier: BSD-3-Clause
#include "solve.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <functional>
#include <map>

#include "stretto/core/error.hpp"

namespace nb = nanobind;

namespace stretto::python {

Outcome::Outcome(std::shared_ptr<Communicator> communicator, RunInfo info, Result result)
    : communicator_(std::move(communicator)), info_(std::move(info)), result_(std::move(result)) {
    if (communicator_->comm().size() > 1) json_ = result_json(communicator_->comm(), info_, result_);
}

const std::string& Outcome::json() {
    if (json_.empty()) json_ = result_json(communicator_->comm(), info_, result_);
    return json_;
}

bool Guest::told(const IterationInfo& at) {
    bool on = true;
    if (!callback_.is_none())
        run([&] {
            const nb::object answer = callback_(at.relative_residual);
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
    return true;  // ends by the interrupt, on all ranks
}

SolveOptions Guest::invited(SolveOptions options) {
    options.interrupt = &interrupt_;
    options.monitor = [this](const IterationInfo& at) { return told(at); };
    return options;
}

SolveOptions solve_options(const nb::dict& given) {
    SolveOptions options;
    const std::map<std::string, std::function<void(nb::handle)>> known{
        {"method", [&](nb::handle value) { options.method = nb::cast<std::string>(value); }},
        {"rtol", [&](nb::handle value) { options.rtol = nb::cast<double>(value); }},
        {"atol", [&](nb::handle value) { options.atol = nb::cast<double>(value); }},
        {"maxiter", [&](nb::handle value) { options.max_iterations = nb::cast<int>(value); }},
        {"basic",
         [&](nb::handle value) {
             options.formulation = nb::cast<bool>(value) ? Formulation::basic : Formulation::merged;
         }},
        {"threads", [&](nb::handle value) { options.threads = nb::cast<int>(value); }},
        {"verify",
         [&](nb::handle value) {
             options.verify = nb::cast<bool>(value) ? Verify::true_residual : Verify::recurrence;
         }},
        {"last", [&](nb::handle value) { options.iterate = nb::cast<bool>(value) ? Iterate::last : Iterate::best; }},
        {"zero_guess", [&](nb::handle value) { options.zero_guess = nb::cast<bool>(value); }},
        {"history", [&](nb::handle value) { options.history = nb::cast<bool>(value); }},
        {"true_history", [&](nb::handle value) { options.true_history = nb::cast<bool>(value); }},
    };
    for (const auto& [name, value] : given) {
        const auto found = known.find(nb::cast<std::string>(name));
        if (found == known.end())
            throw nb::type_error(fmt::format("there is no option '{}'", nb::cast<std::string>(name)).c_str());
        found->second(value);
    }
    return options;
}

}  // namespace stretto::python
