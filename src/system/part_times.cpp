// SPDX-License-Identifier: BSD-3-Clause
// What the parts of an iteration take: measured, or known of a machine.
#include <algorithm>
#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/latency_comm.hpp"
#include "stretto/system/choice.hpp"

namespace stretto {
namespace {

constexpr int values = 4;              // of a sum, as many as an iteration has
constexpr int few = 3;                 // repetitions: the least of them counts
constexpr double usual_kernel = 3e-7;  // seconds of a group of statements on almost no rows

/// Of an emulated network, which says it of itself; zero: it is to be measured.
double known_latency(const Comm& comm) {
    const auto* const emulated = dynamic_cast<const LatencyComm*>(&comm);
    return emulated ? to_seconds(emulated->latency().reduction + emulated->latency().jitter / 2) : 0;
}

double measured_reduction(Comm& comm) {
    std::vector<double> mine(values, 1.0), total(values);
    double least = INFINITY;
    for (int k = 0; k < few; ++k) {
        const auto start = Clock::now();
        comm.start_sum(mine, total).wait();
        least = std::min(least, to_seconds(Clock::now() - start));
    }
    return least;
}

/// Seconds of a product, and of a vector that is read or written, among others, by a statement.
struct Measured {
    double product = INFINITY, vector = INFINITY;
};
Measured measured(const CsrMatrix<double>& A, int columns) {
    const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
    std::vector<double> x(size, 1.0), y(size);
    Measured least;
    constexpr double quick = 1e-4;  // of which more are taken, for the first wakes what sleeps
    constexpr double streams = 3;   // two read, one written
    for (int k = 0; k < few && (k < 2 || least.product < quick); ++k) {
        auto start = Clock::now();
        A.apply({x.data(), A.local_rows(), columns}, {y.data(), A.local_rows(), columns});
        least.product = std::min(least.product, all_max(A.comm(), to_seconds(Clock::now() - start)));
        start = Clock::now();
        std::ranges::transform(x, y, y.begin(), [](double a, double b) { return 0.5 * a + b; });
        least.vector = std::min(least.vector, to_seconds(Clock::now() - start) / streams);
    }
    least.vector = all_max(A.comm(), least.vector);
    return least;
}

}  // namespace

PartTimes part_times(Comm& comm, const CsrMatrix<double>& A, int columns, const KnownMachine* machine) {
    PartTimes parts{.columns = columns, .rows = all_max(comm, static_cast<double>(A.local_rows()))};
    const double bytes = all_max(comm, A.bytes(columns)), latency = known_latency(comm);
    if (machine) {
        const auto& model = machine->model;
        const int here = std::min(model.ranks_per_node, comm.size()), nodes = (comm.size() + here - 1) / here;
        parts.of_machine = true;
        parts.remains = machine->gamma;
        parts.kernel = model.kernel;
        parts.bandwidth = model.b(here * (bytes + 8 * columns * parts.rows)) / here;
        parts.product = model.kernel + bytes / parts.bandwidth +
                        (A.comm().size() > 1 ? model.T_L(8.0 * columns * A.halo_rows(), nodes) : 0);
        parts.product = all_max(comm, parts.product);
        parts.vector = 8 * columns * parts.rows / parts.bandwidth;
        parts.reduction = comm.size() > 1 ? model.T_G(nodes, 8.0 * columns * values) : 0;
    } else {
        parts.kernel = usual_kernel;
        const Measured here = measured(A, columns);
        parts.product = here.product;
        parts.vector = here.vector;
        parts.bandwidth = all_min(comm, bytes / std::max(parts.product - parts.kernel, parts.product / 4));
        // Of one rank alone, or where nothing lets sums advance, nothing is hidden.
        parts.remains = comm.progresses() && (comm.size() > 1 || latency > 0) ? 0 : 1;
        parts.reduction = latency > 0 ? 0 : all_max(comm, measured_reduction(comm));
    }
    if (latency > parts.reduction) {
        parts.reduction = latency;
        parts.remains = 0;
    }
    return parts;
}

}  // namespace stretto
