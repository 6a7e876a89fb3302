// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "stretto/core/buffer.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

/// STREAM's triad, c = a + ½ b: two vectors read, one written, no write-allocate counted. Compiled with the library:
/// its loop is as fast as memory only where it is optimised, as programs may not be.
void triad(int threads, std::size_t size, const double* a, const double* b, double* c);
inline constexpr double triad_bytes = 24;  ///< of an element

/// The same on vectors of its own, for how fast this machine's memory is.
class Triad {
public:
    /// Elements of all ranks together that no cache holds.
    static constexpr Index out_of_cache = 8'000'000;

    explicit Triad(int threads, std::size_t size = out_of_cache) : threads_(threads), size_(size) {
        for (auto* vector : {&a_, &b_, &c_})
            parallel(threads_, [&](int thread, int all) {
                const Share mine(size_, thread, all);
                std::fill(vector->data() + mine.begin, vector->data() + mine.end, 1.0);
            });
    }
    void run() const { triad(threads_, size_, a_.data(), b_.data(), c_.data()); }
    double bytes() const { return triad_bytes * static_cast<double>(size_); }

private:
    int threads_;
    std::size_t size_;
    // Of different sizes, so that they do not start a power of two apart.
    Buffer<double> a_{size_ + 64}, b_{size_ + 128}, c_{size_ + 192};
};

}  // namespace stretto
