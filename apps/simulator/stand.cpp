// SPDX-License-Identifier: BSD-3-Clause
#include "stand.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

using namespace stretto;

namespace {
/// Where messages come from and go to: nobody looks.
std::vector<std::byte>& nothing() {
    static std::vector<std::byte> values(std::size_t{1} << 24);
    return values;
}
}  // namespace

void Stand::apply(MultiVector<double> x, MultiVector<double> y) const {
    ++applied_;
    work(x.columns());
    for (Index row = 0; row < rows_; ++row)
        for (int j = 0; j < x.columns(); ++j) y(row, j) = diagonal_[static_cast<std::size_t>(row)] * x(row, j);
}

DryMatrix::DryMatrix(SimulatedComm& comm, Index rows, const Footprint& footprint, int columns)
    : Stand(comm, rows), footprint_(footprint) {
    std::size_t most = 0;
    for (const auto* list : {&footprint.receives, &footprint.sends})
        for (const auto& [rank, count] : *list) most = std::max(most, count);
    const std::size_t width = static_cast<std::size_t>(columns) * sizeof(double);
    auto& values = nothing();
    if (values.size() < most * width) throw std::length_error("no room for the messages of a dry run");
    for (const auto& [rank, count] : footprint.receives)
        receives_.push_back({rank, std::span(values).first(count * width)});
    for (const auto& [rank, count] : footprint.sends) sends_.push_back({rank, std::span(values).first(count * width)});
}

double DryMatrix::bytes(int columns) const {
    return footprint_.interior_bytes + footprint_.interface_bytes +
           8.0 * columns * (2.0 * footprint_.rows + footprint_.halo_rows);
}

void DryMatrix::work(int columns) const {
    const double interface =
        footprint_.interface_bytes + 8.0 * columns * (2.0 * footprint_.interface_rows + footprint_.halo_rows);
    Pending arriving;
    if (!receives_.empty() || !sends_.empty()) arriving = comm_.start_exchange(receives_, sends_);
    comm_.work(bytes(columns) - interface);
    arriving.wait();
    if (footprint_.interface_rows > 0) comm_.work(interface);
}

void DryPreconditioner::work(int columns) const {
    for (int pass = 0; pass < passes_; ++pass) comm_.work(once_ + a_column_ * columns);
}
