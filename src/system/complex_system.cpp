// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/complex_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/sparse/storage_report.hpp"
#include "stretto/system/checkpoint_identity.hpp"
#include "stretto/system/describe.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto {
namespace {

using Complex = std::complex<double>;

void check_entries(const Comm& comm, const DistributedRowsOf<Complex>& matrix) {
    const auto& [partition, rows] = matrix;
    agree(comm, [&] {
        for (Index i = 0; i < rows.rows(); ++i)
            for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k)
                if (!is_finite(rows.values[k]))
                    throw InputError(fmt::format("row {}, column {}: the value is not finite",
                                                 partition.first(comm.rank()) + i + 1, rows.columns[k] + 1));
    });
}

std::string chosen_precond(const std::string& text, const ComplexStructure& structure) {
    if (text != automatic) return text;
    if (!structure.hermitian) return "block_jacobi:ilu0";
    return structure.positive_diagonal ? "block_jacobi:ic0" : "none";
}

/// What to type where it did not converge.
std::vector<NextStep> next_steps(const std::string& method, const std::string& precond, Status status) {
    std::vector<NextStep> steps;
    if (status == Status::indefinite_matrix)
        steps.push_back({.method = "minres", .precond = "jacobi", .why = "hermitian, and not positive definite"});
    const auto add = [&](const char* name, const char* by, const char* why) {
        if (method != name || precond != by) steps.push_back({.method = name, .precond = by, .why = why});
    };
    add("gmres", "block_jacobi:lu", "takes any matrix, and direct solves on each rank");
    add("gmres:m=100", "additive_schwarz:lu,overlap=2", "longer cycles, and direct solves of overlapping blocks");
    return steps;
}

}  // namespace

ComplexSystem::ComplexSystem(Comm& comm, DistributedRowsOf<Complex> matrix, const ComplexOptions& options)
    : comm_(&comm), insist_(options.insist), storage_(options.storage) {
    const auto start = Clock::now();
    check_entries(comm, matrix);
    const Partition partition = matrix.partition;
    A_ = std::make_unique<CsrMatrix<Complex>>(comm, partition, std::move(matrix.rows), options.threads, storage_);
    structure_ = analyse(*A_);
    precond_ = chosen_precond(options.precond, structure_);
    const auto before = Clock::now();
    M_ = make_complex_preconditioner(precond_, *A_);
    precond_seconds_ = to_seconds(Clock::now() - before);
    setup_seconds_ = to_seconds(Clock::now() - start);
}

std::string ComplexSystem::chosen(const std::string& text) const {
    if (text == automatic) {
        if (!structure_.hermitian || (M_ && !M_->hermitian())) return "gmres";
        return structure_.positive_diagonal ? "cg" : "minres";
    }
    const auto& method = *choose_method(text).method;
    check_reproducible_complex(*comm_, method);
    if (insist_ || method.needs == Needs::any) return text;
    if (!structure_.hermitian)
        throw InputError(
            fmt::format("{} needs a hermitian matrix, and A is {}: type --method gmres or bicgstab, or --insist",
                        method.name, structure_.in_words()));
    if (method.needs == Needs::positive_definite && !structure_.positive_diagonal)
        throw InputError(
            fmt::format("{} needs a positive definite matrix, and the diagonal of A is not positive: type "
                        "--method minres, or --insist",
                        method.name));
    if (M_ && !M_->hermitian())
        throw InputError(
            fmt::format("{} needs a hermitian preconditioner: type --precond jacobi or block_jacobi:ic0, or "
                        "--insist",
                        method.name));
    return text;
}

Result ComplexSystem::solve(MultiVector<const Complex> b, MultiVector<Complex> x, SolveOptions options) const {
    options.method = chosen(options.method);
    options.threads = A_->threads();
    if (options.checkpoint) options.checkpoint->precond = identity_of(precond_, "", comm_->size());
    const auto by = M_ ? AnyOperator<Complex>(*M_) : AnyOperator<Complex>();
    auto result = stretto::solve<Complex>(*comm_, *A_, by, b, x, options);
    if (!result.passed()) result.next = next_steps(options.method, precond_, result.status);
    return result;
}

RunInfo ComplexSystem::info(const SolveOptions& options, int columns) const {
    RunInfo info;
    info.scalar = "complex";
    info.method = chosen(options.method);
    info.precond = precond_;
    info.formulation = options.formulation == Formulation::basic ? "basic" : "merged";
    info.rows = A_->rows();
    info.nonzeros = A_->nonzeros();
    info.columns = columns;
    info.threads = A_->threads();
    info.ranks = comm_->size();
    info.reproducible = comm_->reproducible();
    info.rtol = options.rtol;
    info.atol = options.atol;
    info.max_iterations = options.max_iterations;
    info.setup_seconds = all_max(*comm_, setup_seconds_);
    info.precond_seconds = all_max(*comm_, precond_seconds_);
    info.precond_bytes = all_sum(*comm_, M_ ? M_->stored() : 0.0);
    const auto stored = report_storage(*A_, columns);
    info.storage = to_json(stored);
    info.remarks.push_back(fmt::format("complex values: {}", structure_.in_words()));
    if (A_->nonzeros() > 0) info.remarks.push_back(stored.in_words(std::string(storage_.name())));
    if (M_) std::ranges::move(M_->remarks(), std::back_inserter(info.remarks));
    return info;
}

}  // namespace stretto
