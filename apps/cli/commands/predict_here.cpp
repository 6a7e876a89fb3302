// SPDX-License-Identifier: BSD-3-Clause
#include "predict_here.hpp"

#include "../files.hpp"
#include "../show/print.hpp"

using namespace stretto;

namespace {

CsrMatrix<double> load(Comm& comm, const std::string& problem, const std::string& storage) {
    ProgressLine line(comm.rank(), false);
    return load_matrix(comm, problem, storage, 1, line);
}

}  // namespace

SystemHere::SystemHere(Comm& comm, const std::string& problem, const std::string& storage,
                       const std::string& preconditioner, int columns)
    : comm_(comm),
      A_(load(comm, problem, storage)),
      M_(make_preconditioner(preconditioner, A_)),
      columns_(columns),
      norm_(M_ ? 2 : A_.norm()) {}

const TrialTimes& SystemHere::parts(int vectors) {
    const auto [found, fresh] = parts_.try_emplace(vectors);
    if (fresh)
        found->second =
            time_parts(comm_, A_, M_ ? AnyOperator<double>(*M_) : Identity{}, A_.local_rows(), columns_, vectors);
    return found->second;
}

std::optional<TimedIteration> SystemHere::iteration(const std::string& method, double seconds) {
    return time_iteration(comm_, A_, M_ ? AnyOperator<double>(*M_) : Identity{}, A_.local_rows(), columns_, method,
                          norm_, 1, {50, seconds});
}
