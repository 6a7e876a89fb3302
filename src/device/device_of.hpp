// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "hmatrix/solver.hpp"
#include "hmatrix/study.hpp"
#include "others.hpp"
#include "solver_on.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/spec.hpp"

namespace stretto {

/// Device::check, for all of them.
void check_preconditioner(std::string_view device, const std::string& precond, const CsrMatrix<double>& A);

/// A device as the rest of the library sees it.
template <class D>
class DeviceOf final : public Accelerator {
public:
    std::string_view name() const override { return D::name; }
    std::string title() const override {
        return D::title() +
               (D::mpi_takes_addresses() ? "; MPI takes its addresses" : "; halos travel through the host");
    }
    int number() const override { return Others<D>::number(); }
    std::shared_ptr<void> memory(std::size_t values) const override {
        auto array = std::make_shared<DeviceArray<double, D>>(values);
        for_each_on_device<D>(values, ClearElement<double, D>{array->data(), 1});
        D::wait();
        return {array, array->data()};
    }
    void send(const double* from, void* to, std::size_t values) const override {
        D::upload(to, from, values * sizeof(double));
        D::wait();
    }
    void bring(const void* from, double* to, std::size_t values) const override {
        Others<D>::settle();
        D::download(from, to, values * sizeof(double));
    }
    void copy(const void* from, void* to, std::size_t values) const override {
        using T = OnDevice<double, D>;
        Others<D>::settle();
        for_each_on_device<D>(values, CopyElement<double, D>{static_cast<const T*>(from), static_cast<T*>(to), 1});
        D::wait();
    }
    void check(const std::string& precond, const CsrMatrix<double>& A) const override {
        check_preconditioner(D::name, precond, A);
    }
    std::unique_ptr<HostedSolver> solver(const CsrMatrix<double>& A, const Preconditioner* M, int columns,
                                         const SolveOptions& options) const override {
        return std::make_unique<SolverOn<D>>(A, M, columns, options);
    }
    std::unique_ptr<HostedSolver> solver(const HMatrix& A, const Preconditioner* M, const DenseLayout& layout,
                                         int columns, const SolveOptions& options) const override {
        if (layout.replicated) return std::make_unique<ReplicatedSolverOn<D>>(A, M, layout, columns, options);
        return std::make_unique<HMatrixSolverOn<D>>(A, M, columns, options);
    }
    std::vector<BatchedProduct> compare_batches(const HMatrix& A, const std::vector<double>& x, int columns,
                                                int repeats, bool ours) const override {
        return stretto::compare_batches<D>(A, x, columns, repeats, ours);
    }
    double triad(std::size_t values, int repeats) const override { return triad_on_device<D>(values, repeats); }
    void check_hierarchical(const std::string& precond) const override {
        const auto asked = parse_spec(precond).name;
        if (asked != "none" && asked != "block_jacobi")
            throw InputError(fmt::format(
                "--precond {} is not there for hierarchical matrices on the device {}: none and block_jacobi are "
                "(--device cpu has all)",
                precond, D::name));
    }
};

}  // namespace stretto
