// SPDX-License-Identifier: BSD-3-Clause
// Several devices of a rank, with vectors that are whole on every rank, beside one and beside the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/hmatrix/deal.hpp"
#include "device/hmatrix/replicated.hpp"
#include "hmatrix_cases.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/execute/device/emulated.hpp"
#include "stretto/precond/diagonal_blocks.hpp"
#include "tested_device.hpp"

namespace stretto {
namespace {

using D = EmulatedDevice;

struct SeveralDevices : testing::Test {
    MpiComm comm;
    HMatrixOptions options;
    SeveralDevices() {
        options.leaf = 16;
        options.threads = 2;  // which share panels
    }
};

/// Every way in which devices may have vectors, and what may be hidden.
std::vector<DenseLayout> several_devices() {
    std::vector<DenseLayout> all;
    for (const int devices : {1, 2, 3, 4})
        for (const bool shared : {false, true})
            for (const auto hiding : {Hiding::nothing, Hiding::copies, Hiding::gather})
                if (devices > 1 || !shared)
                    all.push_back({.replicated = true, .devices = devices, .shared = shared, .hiding = hiding});
    return all;
}
std::string in_words(const DenseLayout& layout) {
    return std::to_string(layout.devices) + (layout.shared ? " that share rows, " : " with all rows, ") +
           std::string(hiding_names[static_cast<std::size_t>(layout.hiding)]);
}

TEST_F(SeveralDevices, BlocksAreDealtOnceAndEvenly) {
    const auto geometry = geometries(2000)[0].geometry;
    for (const bool symmetric : {false, true}) {
        options.symmetric = symmetric;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        const auto steps = H.steps();
        for (const int devices : {1, 2, 3, 7}) {
            const auto dealt = deal_panels(steps, devices);
            std::size_t all = 0, most = 0;
            for (const auto& part : dealt) {
                all += part.values.size();
                most = std::max(most, part.values.size());
            }
            EXPECT_LE(all, steps.values.size() + 16 * (steps.dense_here.size() + steps.forward.size()));
            EXPECT_LE(most, all / static_cast<std::size_t>(devices) + all / 10) << devices;
        }
    }
}

TEST_F(SeveralDevices, WhoDoesNotWaitForAnotherDeviceHasNothing) {
    for (const bool waits : {false, true}) {
        D::Event there;
        std::optional<DeviceArray<double, D>> from, to;
        {
            const OnDeviceOf<D> at({0, 2});
            from.emplace(1);
            for_each_on_device<D>(1, ClearElement<double, D>{from->data(), 1});
            D::mark(there);
        }
        const OnDeviceOf<D> at({1, 2});
        to.emplace(1);
        if (waits) D::after(there);
        D::fetch(to->data(), from->data(), sizeof(double));
        double value = 1;
        D::download(to->data(), &value, sizeof(double));
        EXPECT_EQ(value == 0, waits);
        EXPECT_THROW(D::download(from->data(), &value, sizeof(double)), std::logic_error);  // the other's memory
    }
}

TEST_F(SeveralDevices, MultiplyAsOne) {
    const auto geometry = geometries(500)[6].geometry;
    for (const bool symmetric : {false, true}) {
        options.symmetric = symmetric;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        const Replicated whole(H);
        const auto n = static_cast<Index>(H.rows());
        for (const int m : {1, 3})
            for (const auto& layout : several_devices()) {
                std::vector<double> x, y(static_cast<std::size_t>(n * m)), expected(y.size());
                for (Index i = 0; i < n; ++i)
                    for (int c = 0; c < m; ++c) x.push_back(uniform(3, i, c));
                whole.apply({x.data(), n, m}, {expected.data(), n, m});
                DeviceReplicated<D> A(H, layout);
                for (const bool again : {false, true}) {
                    const auto before = y;
                    std::ranges::fill(y, 0);
                    A.company().run([&](int k) {
                        const OnDeviceOf<D> at({k, layout.devices});
                        auto& part = A.part(k);
                        const auto first = static_cast<std::size_t>(A.first(k) * m),
                                   size = static_cast<std::size_t>(part.local_rows() * m);
                        const DeviceArray<double, D> from(std::span<const double>(x).subspan(first, size)), to(size);
                        const MultiVector<on_emulated> X(from.data(), part.local_rows(), m),
                            Y(to.data(), part.local_rows(), m);
                        part.apply(X, Y);
                        part.apply(X, Y);
                        std::vector<double> mine(size);
                        D::download(to.data(), mine.data(), size * sizeof(double));
                        if (A.shared() || k == 0) std::ranges::copy(mine, y.begin() + static_cast<long>(first));
                        if (!A.shared()) {
                            EXPECT_LE(difference(mine, expected), 1e-12 * largest(expected)) << "device " << k;
                        }
                    });
                    ASSERT_LE(difference(y, expected), 1e-12 * largest(expected)) << in_words(layout);
                    if (again) {
                        ASSERT_EQ(y, before) << in_words(layout);
                    }
                }
            }
    }
}

TEST_F(SeveralDevices, SolveAsOne) {
    const auto geometry = geometries(300)[0].geometry;
    options.symmetric = true;
    const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
    const DiagonalBlocks M(H, true);
    const auto n = static_cast<Index>(H.rows());
    const int columns = 2;
    std::vector<double> b;
    for (Index i = 0; i < n; ++i)
        for (int c = 0; c < columns; ++c) b.push_back(uniform(7, i, c));
    for (const char* const method : {"pipelined_bicgstab", "deep_pipelined_cg", "gmres"}) {
        SolveOptions how;
        how.method = method;
        how.rtol = 1e-6;
        std::vector<double> one(b.size());
        const auto solve_on = [&](const DenseLayout& layout, std::vector<double>& x) {
            std::ranges::fill(x, 0);
            return Result(tested_device()
                              .solver(H, &M, layout, columns, how)
                              ->solve({b.data(), n, columns}, {x.data(), n, columns}, false));
        };
        const Result expected = solve_on({.replicated = true}, one);
        EXPECT_TRUE(expected.converged()) << method;
        for (const int devices : {2, 3})
            for (const bool shared : {false, true}) {
                std::vector<double> before;
                for (const auto hiding : {Hiding::nothing, Hiding::copies, Hiding::gather}) {
                    const DenseLayout layout{
                        .replicated = true, .devices = devices, .shared = shared, .hiding = hiding};
                    std::vector<double> x(b.size());
                    const Result found = solve_on(layout, x);
                    EXPECT_TRUE(found.converged()) << method << ", " << in_words(layout);
                    EXPECT_NEAR(found.iterations, expected.iterations, 2 + 0.1 * expected.iterations)
                        << method << ", " << in_words(layout);
                    EXPECT_LE(difference(x, one), 1e-3 * largest(one)) << method << ", " << in_words(layout);
                    // What is hidden changes no number.
                    if (!before.empty()) {
                        EXPECT_EQ(x, before) << method << ", " << in_words(layout);
                    }
                    before = x;
                }
            }
    }
}

TEST_F(SeveralDevices, SomeHaveNothingToDo) {
    for (const Index points : {20, 90}) {  // of which some ranks have none
        const auto geometry = geometries(points)[0].geometry;
        options.symmetric = true;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        const DiagonalBlocks M(H, true);
        const auto n = static_cast<Index>(H.rows());
        std::vector<double> b(static_cast<std::size_t>(n), 1.0), one(b.size());
        SolveOptions how;
        how.method = "pipelined_bicgstab";
        how.rtol = 1e-6;
        const auto solve_on = [&](const DenseLayout& layout, std::vector<double>& x) {
            const auto solver = tested_device().solver(H, &M, layout, 1, how);
            EXPECT_TRUE(solver->solve({b.data(), n, 1}, {x.data(), n, 1}, false).converged()) << in_words(layout);
        };
        solve_on({.replicated = true}, one);
        for (const int devices : {2, 8})
            for (const bool shared : {false, true})
                for (const auto hiding : {Hiding::nothing, Hiding::gather}) {
                    std::vector<double> x(b.size());
                    const DenseLayout layout{
                        .replicated = true, .devices = devices, .shared = shared, .hiding = hiding};
                    solve_on(layout, x);
                    EXPECT_LE(difference(x, one), 1e-4 * largest(one)) << in_words(layout);
                }
    }
}

TEST_F(SeveralDevices, AFailureOfOneDeviceEndsAll) {
    Company company(3);
    EXPECT_THROW(company.run([&](int k) {
        if (k == 1) throw std::bad_alloc();
        while (company.meet()) {
        }
    }),
                 std::bad_alloc);
    std::atomic<int> met = 0;
    company.run([&](int k) { met += company.meet() && k == 0; });  // and it can be used again
    EXPECT_EQ(met, 1);
}

TEST_F(SeveralDevices, AreInterruptedTogether) {
    const auto geometry = geometries(600)[0].geometry;
    const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
    const auto n = static_cast<Index>(H.rows());
    std::vector<double> b(static_cast<std::size_t>(n), 1.0);
    for (const bool shared : {false, true})
        for (const bool by_monitor : {false, true}) {
            std::atomic<bool> raised{false};
            SolveOptions how;
            how.method = "bicgstab";
            how.rtol = 1e-13;
            how.interrupt = &raised;
            how.monitor = [&](const IterationInfo& info) {
                raised = !by_monitor && comm.rank() == 0 && info.iteration == 2;
                return !by_monitor || info.iteration != 2;
            };
            std::vector<double> x(b.size());
            const auto solver =
                tested_device().solver(H, nullptr, {.replicated = true, .devices = 2, .shared = shared}, 1, how);
            const Result result = solver->solve({b.data(), n, 1}, {x.data(), n, 1}, false);
            EXPECT_EQ(result.status, Status::interrupted) << shared << by_monitor;
            EXPECT_LE(result.iterations, 4) << shared << by_monitor;
            // The next solve knows nothing of it.
            solver->set_tolerances(1e-1, 0, 1000);
            EXPECT_NE(solver->solve({b.data(), n, 1}, {x.data(), n, 1}, false).status, Status::interrupted) << shared;
        }
}

}  // namespace
}  // namespace stretto
