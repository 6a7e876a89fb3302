// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a device takes for what methods are made of, as lines of JSON: copies, groups and panels of statements,
// products, waits. Bytes are those that must be moved, each vector of a pass once; studies compare them with a copy's.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../timing.hpp"
#include "device/matrix.hpp"
#include "run.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/execute/space.hpp"
#include "stretto/io/problem.hpp"

namespace stretto {

/// Of one call of work(): the median of some batches, each long enough for its launches not to be seen one by one.
template <class D, class Work>
double seconds_on(const Work& work) {
    constexpr int batches = 7, calls = 20;
    work();
    D::wait();
    std::vector<double> each(batches);
    for (double& batch : each)
        batch = seconds([&] {
            for (int k = 0; k < calls; ++k) work();
            D::wait();
        });
    return median(std::move(each)) / calls;
}

inline void tell(std::string_view what, double rows, int columns, double bytes, double time) {
    fmt::print(R"({{"what": "{}", "rows": {:.0f}, "columns": {}, "bytes": {:.0f}, "seconds": {:.4g}}})"
               "\n",
               what, rows, columns, bytes, time);
}

/// Groups of methods, and of panels, on vectors of so many rows and columns.
template <class D>
void measure_groups(Comm& comm, Index rows, int columns) {
    using T = OnDevice<double, D>;
    constexpr int panel = 8, many = 10;
    Space<T> V(comm, rows, columns, panel + many, 1, Formulation::merged);
    const auto Q = V.panel(panel);
    const auto v = V.panel(many);
    for (int k = 0; k < many; ++k) V.fill_uniform(v[k], static_cast<std::uint64_t>(k));
    for (int k = 0; k < panel; ++k) V.fill_uniform(Q[k], static_cast<std::uint64_t>(many + k));
    const auto a = V.scalars(1e-3), b = V.scalars(1e-2), c = V.scalars(1e-1);
    SmallMatrix<T> S(panel, 1, columns), products(panel, 1, columns);
    const auto size = static_cast<double>(v[0].size() * sizeof(double));
    const auto report = [&](std::string_view name, const auto& say, const auto&... statements) {
        const auto moved = traffic(Formulation::merged, statements...);
        tell(name, rows, columns, size * static_cast<double>(moved.reads + moved.writes),
             seconds_on<D>([&] { say(statements...); }));
    };
    const auto run = [&](const auto&... s) { V.run(s...); };
    const auto start = [&](const auto&... s) { (void)V.start(s...).wait(); };
    report("copy, a group", run, v[1] <<= v[0]);
    report("update", run, v[2] <<= v[0] + a * v[1]);
    report("dots", start, dot(v[0], v[1]), dot(v[1], v[1]));
    report("cg", start, v[0] <<= v[0] + a * v[1], v[2] <<= v[2] - a * v[3], dot(v[2], v[2]));
    report("pipelined_cg", start, v[0] <<= v[1] + b * v[0], v[2] <<= v[3] + b * v[2], v[4] <<= v[5] + b * v[4],
           v[6] <<= v[6] + a * v[2], v[5] <<= v[5] - a * v[0], v[3] <<= v[3] - a * v[4], dot(v[5], v[5]),
           dot(v[3], v[5]));
    report("pipelined_bicgstab", start, v[0] <<= v[3] + b * (v[0] - c * v[1]), v[1] <<= v[4] + b * (v[1] - c * v[2]),
           v[2] <<= v[5] + b * (v[2] - c * v[6]), v[7] <<= v[3] - a * v[1], v[8] <<= v[4] - a * v[2], dot(v[7], v[8]),
           dot(v[8], v[8]), dot(v[7], v[7]));
    const auto w = v.part(9, 1);
    report("panel", run, w <<= w - Q * S.from(0, 0));
    const auto moved = traffic(Formulation::merged, dots(Q, w));
    tell("products of a panel", rows, columns, size * static_cast<double>(moved.reads + moved.writes),
         seconds_on<D>([&] { V.start(dots(Q, w)).wait(products, 0, 0, 1); }));
}

template <class D>
void measure_products(Comm& comm, const std::string& problem, int columns) {
    using T = OnDevice<double, D>;
    const int threads = default_threads(comm);
    auto [partition, rows] = load_problem(comm, problem, threads);
    const CsrMatrix<double> A(comm, std::move(partition), std::move(rows), threads, Storage::compressed_rows);
    const DeviceMatrix<double, D> there(A, columns);
    Space<T> V(comm, A.local_rows(), columns, 2, 1, Formulation::merged);
    const auto x = V.vector(), y = V.vector();
    V.fill_uniform(x, 1);
    tell("product, " + problem, A.local_rows(), columns, there.bytes(columns),
         seconds_on<D>([&] { there.apply(x, y); }));
}

/// Copies bytes from one place on the device to another so many times, by its maker's means; null: there are none.
using CopyOnDevice = void (*)(void* to, const void* from, std::size_t bytes, int times);
template <class D>
void measure_all(std::string_view part, Index most_rows, CopyOnDevice copy) {
    D::take();
    MpiComm comm(MPI_COMM_SELF);
    fmt::print(R"({{"device": "{}"}})"
               "\n",
               D::title());
    const auto wants = [&](std::string_view each) { return part == "all" || part == each; };
    const auto sizes = [&](auto&& work) {
        for (Global rows = std::min<Global>(10'000, most_rows); rows <= most_rows; rows *= 10)
            work(static_cast<Index>(rows));
    };
    if (wants("copy") && copy)
        sizes([&](Index rows) {
            const DeviceArray<double, D> from(static_cast<std::size_t>(rows)), to(from.size());
            for_each_on_device<D>(from.size(), ClearElement<double, D>{from.data(), 1});
            const std::size_t bytes = from.size() * sizeof(double);
            constexpr int times = 20;
            tell("copy", rows, 1, 2.0 * static_cast<double>(bytes),
                 seconds_on<D>([&] { copy(to.data(), from.data(), bytes, times); }) / times);
        });
    if (wants("groups"))
        sizes([&](Index rows) {
            for (const int columns : {1, 8, 64}) measure_groups<D>(comm, rows / columns, columns);
        });
    if (wants("products"))
        for (const auto* const problem : {"poisson3d", "jump3d", "convdiff3d"})
            for (const int side : {20, 100, 200, 400}) {
                if (static_cast<double>(side) * side * side > most_rows) continue;
                for (const int columns : {1, 4, 16})
                    if (static_cast<double>(side) * side * side * columns <= 16.0 * most_rows)
                        measure_products<D>(comm, fmt::format("{}:{}", problem, side), columns);
            }
}

/// [PART [ROWS]]: copy, groups, products or all, on vectors of at most so many values.
template <class D>
int measure_main(int argc, char** argv, CopyOnDevice copy) {
    return run_with_mpi(argc, argv, [&] {
        const std::string part = argc > 1 ? argv[1] : "all";
        if (part != "all" && part != "copy" && part != "groups" && part != "products")
            throw InputError("'" + part + "' is no part: copy, groups, products or all");
        const double rows = argc > 2 ? std::strtod(argv[2], nullptr) : 1e8;
        if (!(rows >= 1 && rows <= 2e9)) throw InputError(std::string(argv[2]) + ": no number of rows, as 1e6");
        measure_all<D>(part, static_cast<Index>(rows), copy);
    });
}

}  // namespace stretto
