// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The study of batched kernels of Yamazaki and others (2018), Section V, Figs. 8 and 9, on a device: a product by each
// of their schemes, and by ours.

#include <vector>

#include "operator.hpp"
#include "stretto/measure/ledger.hpp"
#include "stretto/system/device.hpp"

namespace stretto {

struct StudiedScheme {
    std::string_view where;  ///< in the paper
    BatchScheme scheme;
};
inline constexpr StudiedScheme studied_schemes[] = {
    {"Fig. 8 (a)", {"sorted by rows, vbatch(1K)", BatchScheme::by_rows, BatchScheme::by_count, 1000, 1, false}},
    {"Fig. 8 (a)", {"sorted by rows, vbatch(5K)", BatchScheme::by_rows, BatchScheme::by_count, 5000, 1, false}},
    {"Fig. 8 (a)", {"sorted by rows, vbatch(20K)", BatchScheme::by_rows, BatchScheme::by_count, 20000, 1, false}},
    {"Fig. 8 (b)", {"grouped, vbatch(1K)", BatchScheme::grouped, BatchScheme::by_count, 1000, 1, false}},
    {"Fig. 8 (b)", {"grouped, vbatch(5K)", BatchScheme::grouped, BatchScheme::by_count, 5000, 1, false}},
    {"Fig. 8 (b), 9", {"vbatch(20K, fixed)", BatchScheme::grouped, BatchScheme::by_count, 20000, 1, false}},
    {"Fig. 8 (c)",
     {"grouped, variable: 1-7, 8-31, 32-", BatchScheme::grouped, BatchScheme::by_three_ranges, 0, 1, false}},
    {"Fig. 8 (d)", {"unsorted, vbatch(1K)", BatchScheme::stored, BatchScheme::by_count, 1000, 1, false}},
    {"Fig. 8 (d)", {"unsorted, vbatch(5K)", BatchScheme::stored, BatchScheme::by_count, 5000, 1, false}},
    {"Fig. 8 (d)", {"unsorted, vbatch(20K)", BatchScheme::stored, BatchScheme::by_count, 20000, 1, false}},
    {"Fig. 9", {"vbatch(20K, variable) + 1 stream", BatchScheme::grouped, BatchScheme::by_32_rows, 20000, 1, false}},
    {"Fig. 9", {"vbatch(20K, variable) + 2 streams", BatchScheme::grouped, BatchScheme::by_32_rows, 20000, 2, false}},
    {"Fig. 9", {"vbatch(20K, variable) + 3 streams", BatchScheme::grouped, BatchScheme::by_32_rows, 20000, 3, false}},
    {"", {"one launch a phase, atomic sums", BatchScheme::stored, BatchScheme::whole, 0, 1, false}},
    {"", one_launch},
};

template <class D>
struct TriadElement {
    OnDevice<double, D>* a;
    const OnDevice<double, D>*b, *c;
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::size_t i) const {
        block.at(a + i) = block.at(b + i) + 3.0 * block.at(c + i);
    }
};

/// Seconds that work() takes on the device, the fastest of some.
template <class D, class Work>
double fastest_on_device(int repeats, Work&& work) {
    double best = 0;
    for (int k = 0; k <= repeats; ++k) {  // the first time is not counted
        D::wait();
        const auto start = Clock::now();
        work();
        D::wait();
        const double seconds = to_seconds(Clock::now() - start);
        if (k == 1 || seconds < best) best = seconds;
    }
    return best;
}

/// Bytes per second of a triad whose vectors have so many values.
template <class D>
double triad_on_device(std::size_t size, int repeats) {
    const DeviceArray<double, D> a(size), b(size), c(size);
    for (const auto* v : {&b, &c}) for_each_on_device<D>(size, ClearElement<double, D>{v->data(), 1});
    return 24.0 * static_cast<double>(size) / fastest_on_device<D>(repeats, [&] {
               for_each_on_device<D>(size, TriadElement<D>{a.data(), b.data(), c.data()});
           });
}

template <class D>
std::vector<BatchedProduct> compare_batches(const HMatrix& A, const std::vector<double>& x, int columns, int repeats,
                                            bool ours) {
    const DeviceArray<double, D> from(x), to(x.size());
    const MultiVector<OnDevice<double, D>> X(from.data(), A.local_rows(), columns),
        Y(to.data(), A.local_rows(), columns);
    std::vector<BatchedProduct> found;
    for (const auto& [where, scheme] : studied_schemes) {
        if (ours && scheme.name != one_launch.name) continue;
        const DeviceHMatrix<D> on_device(A, scheme);
        BatchedProduct product{
            where, scheme.name, scheme.disjoint, on_device.launches(), 0, std::vector<double>(x.size())};
        product.seconds = fastest_on_device<D>(repeats, [&] { on_device.apply(X, Y); });
        D::download(to.data(), product.y.data(), x.size() * sizeof(double));
        found.push_back(std::move(product));
    }
    return found;
}

}  // namespace stretto
