// SPDX-License-Identifier: BSD-3-Clause
#include "panels.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>

// Nothing here is called from outside: how a vector is returned where the processor has none so long is our own affair.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace stretto::panels {
namespace {

// Eight rows of a column. GCC 12 keeps vectors longer than the processor's in memory, so that there they are two.
typedef double Unaligned __attribute__((vector_size(32), aligned(8), may_alias));
typedef double Half __attribute__((vector_size(32)));
#ifdef __AVX512F__
typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));

inline void add_product(Lanes& sum, const Lanes& left, double right) { sum += left * right; }
inline void add_product(Lanes& sum, const Lanes& left, const Lanes& right) { sum += left * right; }
inline void add(Lanes& sum, const Lanes& other) { sum += other; }
inline void add_to(double* to, const Lanes& sum) { *reinterpret_cast<Lanes*>(to) += sum; }
inline Half folded(const Lanes& v) {
    return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
inline void load(const double* from, Lanes& to) { to = *reinterpret_cast<const Lanes*>(from); }
// g++ 12 makes six instructions of the vector's conversion, and warns of what is inside the intrinsic without a mask.
inline void load(const float* from, Lanes& to) { to = _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from)); }
inline void load(const std::int16_t* from, Lanes& to) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    to = _mm512_maskz_cvtepi32_pd(0xff, _mm256_cvtepi16_epi32(values));
}
inline void load(const std::int8_t* from, Lanes& to) {
    const __m128i values = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    to = _mm512_maskz_cvtepi32_pd(0xff, _mm256_cvtepi8_epi32(values));
}
#else
struct Lanes {
    Half low, high;
};

inline void add_product(Lanes& sum, const Lanes& left, double right) {
    sum.low += left.low * right;
    sum.high += left.high * right;
}
inline void add_product(Lanes& sum, const Lanes& left, const Lanes& right) {
    sum.low += left.low * right.low;
    sum.high += left.high * right.high;
}
inline void add(Lanes& sum, const Lanes& other) {
    sum.low += other.low;
    sum.high += other.high;
}
inline void add_to(double* to, const Lanes& sum) {
    *reinterpret_cast<Unaligned*>(to) += sum.low;
    *reinterpret_cast<Unaligned*>(to + 4) += sum.high;
}
inline Half folded(const Lanes& v) { return v.low + v.high; }
inline void load(const double* from, Lanes& to) {
    to.low = *reinterpret_cast<const Unaligned*>(from);
    to.high = *reinterpret_cast<const Unaligned*>(from + 4);
}
#ifdef __AVX2__
inline void load(const float* from, Lanes& to) {
    to.low = _mm256_cvtps_pd(_mm_loadu_ps(from));
    to.high = _mm256_cvtps_pd(_mm_loadu_ps(from + 4));
}
inline void load(const std::int16_t* from, Lanes& to) {
    const __m128i* const four = reinterpret_cast<const __m128i*>(from);
    to.low = _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(_mm_loadl_epi64(four)));
    to.high = _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 4))));
}
inline void load(const std::int8_t* from, Lanes& to) {
    const __m256i values = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    to.low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(values));
    to.high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(values, 1));
}
#else
template <class S>
inline void load(const S* from, Lanes& to) {
    for (int i = 0; i < 4; ++i) {
        to.low[i] = static_cast<double>(from[i]);
        to.high[i] = static_cast<double>(from[i + 4]);
    }
}
#endif
#endif

/// y += P x for `width` columns. Slab after slab, so that memory is read in one stream: the processor fetches that
/// ahead best by itself.
template <int width, bool one>
void forward_panel(const HMatrixPanel p, const std::byte* values, const double* x, double* y, int m, int first) {
    constexpr Index chains = one ? 4 : 1;  // sums that do not wait for each other
    constexpr Index most = 256;            // columns of integers at once
    const PanelColumns columns = p.columns;
    const std::size_t slab_bytes = columns.slab_bytes();
    const Index floats = columns.in_double + columns.in_single, integers = columns.scaled();
    const float* const scales = reinterpret_cast<const float*>(values + p.scales);
    double scaled[most][width];  // x times the scales of integers
    for (Index begin = 0; begin == 0 || begin < integers; begin += most) {
        const Index end = std::min(begin + most, integers);
        for (Index j = begin; j < end; ++j)
            for (int c = 0; c < width; ++c)
                scaled[j - begin][c] = x[place<one>(p.col + floats + j, first + c, m)] * static_cast<double>(scales[j]);
        const std::byte* slab = values + p.at;
        for (Index row = p.row; row < p.row + p.rows; row += panel_rows, slab += slab_bytes) {
            Lanes sum[chains][width] = {};
            const auto add_columns = [&]<class S>(const S* from, Index j, Index last, auto&& right) {
                const auto one_column = [&](Index column, Index chain) {
                    Lanes left;
                    load(from, left);
                    from += panel_rows;
                    for (int c = 0; c < width; ++c) add_product(sum[chain][c], left, right(column, c));
                };
                for (; j + chains <= last; j += chains)
                    for (Index chain = 0; chain < chains; ++chain) one_column(j + chain, chain);
                for (; j < last; ++j) one_column(j, 0);
            };
            each_kind(columns, [&]<class S>(Index begins, Index count, std::size_t offset) {
                const S* const from = reinterpret_cast<const S*>(slab + offset);
                if constexpr (std::floating_point<S>) {
                    if (begin == 0)
                        add_columns(from, begins, begins + count,
                                    [&](Index j, int c) { return x[place<one>(p.col + j, first + c, m)]; });
                } else {
                    const Index skipped = std::clamp(begin + floats - begins, Index{0}, count),
                                last = std::min(begins + count, floats + end) - floats - begin;
                    add_columns(from + skipped * panel_rows, begins + skipped - floats - begin, last,
                                [&](Index j, int c) { return scaled[j][c]; });
                }
            });
            for (int c = 0; c < width; ++c) {
                for (Index chain = 1; chain < chains; ++chain) add(sum[0][c], sum[chain][c]);
                add_to(y + place<one>(row, first + c, m), sum[0][c]);
            }
        }
    }
}

/// The sums of the lanes of eight.
inline void add_lanes(const Lanes (&v)[8], double (&sums)[8]) {
    Half pair[4];
    for (int k = 0; k < 4; ++k) {
        const Half a = folded(v[2 * k]), b = folded(v[2 * k + 1]);
        pair[k] = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    }
    for (int k = 0; k < 2; ++k) {
        const Half &a = pair[2 * k], &b = pair[2 * k + 1];
        const Half four = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
        for (int i = 0; i < 4; ++i) sums[4 * k + i] = four[i];
    }
}

/// t = Pᵀ x, or t += Pᵀ x, for `count` columns of one kind from column j on, which stand at `values` in the first slab,
/// and `width` of x.
template <int count, int width, bool one, class S>
void adjoint(const HMatrixPanel p, const S* values, const float* scales, Index j, const double* x, double* t, int m,
             int first, bool more) {
    constexpr int eights = (count * width + 7) / 8;
    Lanes sum[eights][8] = {};  // column k for column c of x: number k · width + c
    const std::size_t slab = p.columns.slab_bytes() / sizeof(S);
    for (Index row = p.row; row < p.row + p.rows; row += panel_rows, values += slab) {
        Lanes right[width];
        for (int c = 0; c < width; ++c) load(x + place<one>(row, first + c, m), right[c]);
        for (int k = 0; k < count; ++k) {
            Lanes left;
            load(values + k * panel_rows, left);
            for (int c = 0; c < width; ++c) add_product(sum[(k * width + c) / 8][(k * width + c) % 8], left, right[c]);
        }
    }
    for (int e = 0; e < eights; ++e) {
        double sums[8];
        add_lanes(sum[e], sums);
        for (int i = 0; i < 8 && e * 8 + i < count * width; ++i) {
            const int k = (e * 8 + i) / width;
            double value = sums[i];
            if constexpr (std::integral<S>) value *= static_cast<double>(scales[k]);
            double& to = t[place<one>(p.col + j + k, first + (e * 8 + i) % width, m)];
            to = more ? to + value : value;
        }
    }
}

template <int width, bool one, class S>
void adjoint_columns(const HMatrixPanel& p, const S* values, const float* scales, Index j, Index last, const double* x,
                     double* t, int m, int first, bool more) {
#ifdef __AVX512F__
    constexpr int most = one ? 16 : 4;  // sums that registers hold
#else
    constexpr int most = one ? 8 : 4;
#endif
    const auto next = [&]<int count>(Index from) {
        adjoint<count, width, one>(p, values, scales, from, x, t, m, first, more);
        values += count * panel_rows;
        if constexpr (std::integral<S>) scales += count;
        return from + count;
    };
    while (last - j >= most) j = next.template operator()<most>(j);
    if constexpr (most > 8)
        if (last - j >= 8) j = next.template operator()<8>(j);
    const auto rest = [&]<int... count>(std::integer_sequence<int, count...>) {
        const Index left = last - j;
        (void)((left == count + 1 ? (next.template operator()<count + 1>(j), true) : false) || ...);
    };
    rest(std::make_integer_sequence<int, one ? 7 : 3>());
}

/// t = Pᵀ x, in stretches of rows that stay in the nearest cache while kinds of columns go through them.
template <int width, bool one>
void adjoint_panel(const HMatrixPanel& p, const std::byte* values, const double* x, double* t, int m, int first) {
    constexpr Index stretch = 512;
    const float* const scales = reinterpret_cast<const float*>(values + p.scales);
    const Index floats = p.columns.in_double + p.columns.in_single;
    HMatrixPanel part = p;
    for (Index done = 0; done < p.rows; done += stretch, part.row += stretch) {
        part.rows = std::min(stretch, p.rows - done);
        const std::byte* const slab = values + p.at + p.columns.slabs_bytes(done);
        each_kind(p.columns, [&]<class S>(Index begins, Index count, std::size_t offset) {
            const float* const own = std::integral<S> ? scales + (begins - floats) : nullptr;
            adjoint_columns<width, one>(part, reinterpret_cast<const S*>(slab + offset), own, begins, begins + count, x,
                                        t, m, first, done > 0);
        });
    }
}

/// Calls work.operator()<width, one>(first) for groups of the columns 0 … m − 1.
template <class Work>
void each_width(int m, Work&& work) {
    if (m == 1) return work.template operator()<1, true>(0);
    int first = 0;
    for (; first + 4 <= m; first += 4) work.template operator()<4, false>(first);
    for (; first + 2 <= m; first += 2) work.template operator()<2, false>(first);
    if (first < m) work.template operator()<1, false>(first);
}

}  // namespace

void multiply(const HMatrixPanel& p, const std::byte* values, const double* x, double* y, int m) {
    each_width(m, [&]<int width, bool one>(int first) { forward_panel<width, one>(p, values, x, y, m, first); });
}

void multiply_transposed(const HMatrixPanel& p, const std::byte* values, const double* x, double* t, int m) {
    each_width(m, [&]<int width, bool one>(int first) { adjoint_panel<width, one>(p, values, x, t, m, first); });
}

void complete_pairs(double* t, Index begin, Index rows, int m) {
    for (Index row = begin; row < begin + rows; row += 2)
        for (int c = 0; c < m; c += 2) {
            double *const real = t + place<false>(row, c, m), *const imaginary = t + place<false>(row, c + 1, m);
            const double re = real[0] - imaginary[1], im = imaginary[0] + real[1];
            real[0] = re;
            imaginary[0] = im;
            real[1] = -im;
            imaginary[1] = re;
        }
}

void expand_pairs(const double* x, Index begin, Index end, double* to, int m) {
    for (Index row = begin; row < end; ++row)
        for (int c = 0; c < m; c += 2) {
            const double re = x[place<false>(row, c, m)], im = x[place<false>(row, c + 1, m)];
            double *const real = to + place<false>(2 * row, c, m), *const imaginary =
                                                                       to + place<false>(2 * row, c + 1, m);
            real[0] = re;
            imaginary[0] = im;
            real[1] = -im;
            imaginary[1] = re;
        }
}

}  // namespace stretto::panels
