// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>

#include "stretto/model/execution_time.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"

/// The system of a prediction on the ranks of this run, where products, preconditioners, sums and iterations are timed.
class SystemHere {
public:
    /// Collective. Throws stretto::InputError.
    SystemHere(stretto::Comm& comm, const std::string& problem, const std::string& storage,
               const std::string& preconditioner, int columns);
    SystemHere(const SystemHere&) = delete;

    stretto::Index rows() const { return A_.local_rows(); }  ///< of this rank

    /// Collective, the first time with so many vectors.
    const stretto::TrialTimes& parts(int vectors);
    /// Collective. Measured for about so many seconds.
    std::optional<stretto::TimedIteration> iteration(const std::string& method, double seconds);

private:
    stretto::Comm& comm_;
    stretto::CsrMatrix<double> A_;
    std::unique_ptr<stretto::Preconditioner> M_;
    int columns_;
    double norm_;
    std::map<int, stretto::TrialTimes> parts_;
};
