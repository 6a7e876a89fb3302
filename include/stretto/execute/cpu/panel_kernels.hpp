// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The loops of dot products and of panel statements, these on a strip of rows that stays in the second-level cache. A
// tile of left × right vectors keeps its sums, or its coefficients, in registers while it streams along the strip, so
// each vector is loaded once per tile. With more than two vectors on the right, what the first tile meets of the next
// strip is fetched ahead, so that memory is busy while later tiles compute; with fewer, memory is never idle, and
// tiles are taller. Twice as fast as OpenBLAS's dgemm on these shapes (bench/panels.cpp).
//
// Coefficients and sums have a number for each lane of a period, which is the least number of elements that is made of
// whole vector registers and of whole rows. Registers hold what sums add up in, into which single precision is
// converted on its way.

#include <complex>
#include <cstddef>
#include <numeric>
#include <utility>

#include "stretto/statements/scalar_traits.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace stretto {

/// A register of numbers of type Sum, as it is loaded, and how many of them tiles may take.
template <class Sum>
struct KernelRegister {
#if defined(__AVX512F__)
    static constexpr std::size_t register_bytes = 64;
    static constexpr int widest = 6, highest = 8;  // of 32 registers: 4 × 6 sums, 6 right, 1 left; or 8 × 2, 2, 1
#elif defined(__AVX__)
    static constexpr std::size_t register_bytes = 32;
    static constexpr int widest = 2, highest = 4;
#else
    static constexpr std::size_t register_bytes = 16;
    static constexpr int widest = 2, highest = 4;
#endif
    static constexpr std::size_t width = register_bytes / sizeof(Sum);
    typedef Sum Register __attribute__((vector_size(register_bytes), aligned(sizeof(Sum)), may_alias));

    static Register load(const Sum* p) { return *reinterpret_cast<const Register*>(p); }
    static void store(Sum* p, Register v) { *reinterpret_cast<Register*>(p) = v; }

    // Single precision: GCC makes four instructions, by way of the stack, of a __builtin_convertvector.
#if defined(__AVX512F__)
    static Register load(const float* p) { return Register(_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p))); }
    static void store(float* p, Register v) { _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(0xff, __m512d(v))); }
#elif defined(__AVX__)
    static Register load(const float* p) { return Register(_mm256_cvtps_pd(_mm_loadu_ps(p))); }
    static void store(float* p, Register v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(__m256d(v))); }
#else
    typedef float Narrow __attribute__((vector_size(width * sizeof(float)), aligned(sizeof(float)), may_alias));
    static Register load(const float* p) {
        return __builtin_convertvector(*reinterpret_cast<const Narrow*>(p), Register);
    }
    static void store(float* p, Register v) { *reinterpret_cast<Narrow*>(p) = __builtin_convertvector(v, Narrow); }
#endif
};

/// Two registers of real numbers, so that each number of a product is a product of registers.
template <class X>
struct KernelRegister<std::complex<X>> {
    using Part = KernelRegister<X>;
    static constexpr int widest = Part::widest / 2, highest = 4;
    static constexpr std::size_t width = Part::width;
    struct Register {
        typename Part::Register re, im;

        friend typename Part::Register real(const Register& a) { return a.re; }
        friend typename Part::Register imag(const Register& a) { return a.im; }
        friend Register operator+(const Register& a, const Register& b) { return {a.re + b.re, a.im + b.im}; }
        friend Register operator*(const Register& a, const Register& b) {
            return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
        }
        void operator+=(const Register& b) {
            re += b.re;
            im += b.im;
        }
    };

    template <class Y>
    static Register load(const std::complex<Y>* p) {
        return apart(reinterpret_cast<const Y*>(p), std::make_integer_sequence<int, width>{});
    }
    template <class Y>
    static void store(std::complex<Y>* p, const Register& v) {
        together(reinterpret_cast<Y*>(p), v, std::make_integer_sequence<int, width>{});
    }

private:
    template <class Y, int... k>
    static Register apart(const Y* p, std::integer_sequence<int, k...>) {
        const auto low = Part::load(p), high = Part::load(p + width);
        return {__builtin_shufflevector(low, high, (2 * k)...), __builtin_shufflevector(low, high, (2 * k + 1)...)};
    }
    template <class Y, int... k>
    static void together(Y* p, const Register& v, std::integer_sequence<int, k...>) {
        constexpr int half = width / 2, size = width;
        Part::store(p, __builtin_shufflevector(v.re, v.im, (k / 2 + k % 2 * size)...));
        Part::store(p + width, __builtin_shufflevector(v.re, v.im, (half + k / 2 + k % 2 * size)...));
    }
};

template <class T>
struct PanelKernels {
    using Sum = sum_of<T>;
    using Registers = KernelRegister<Sum>;
    using Register = typename Registers::Register;
    static constexpr int widest = Registers::widest, highest = Registers::highest, narrow = 2;
    static constexpr int tallest(int wide) { return wide <= narrow ? highest : 4; }
    static constexpr std::size_t width = Registers::width;

    static std::size_t period(int columns) { return std::lcm(width, static_cast<std::size_t>(columns)); }

    /// Vectors at equal distances, or entries with `stride` periods from one row to the next.
    struct StridedVectors {
        const T* data;
        std::size_t stride;
        int count;
        const T* operator[](int i) const { return data + static_cast<std::size_t>(i) * stride; }
    };
    struct CacheStrip {
        std::size_t length, period;
        std::size_t ahead;  // where the next strip is; 0: there is nothing to fetch
    };

    /// sums += left · right of two vectors, by lanes of a period.
    static void dot(const T* left, const T* right, Sum* sums, std::size_t length, std::size_t period) {
        const std::size_t whole = length / period * period;
        for (std::size_t lane = 0; lane < period && whole > 0; lane += width) {
            Register even{}, odd{};  // two, as an addition takes some cycles
            std::size_t e = lane;
            for (; e + period < whole; e += 2 * period) {
                even += inner<T>(load(left + e), load(right + e));
                odd += inner<T>(load(left + e + period), load(right + e + period));
            }
            if (e < whole) even += inner<T>(load(left + e), load(right + e));
            store(sums + lane, load(sums + lane) + (even + odd));
        }
#pragma omp simd
        for (std::size_t e = whole; e < length; ++e) sums[e - whole] += inner<T>(Sum{left[e]}, Sum{right[e]});
    }

    /// sums(i, k) += left_i · right_k, by lanes; sums has a period for each pair, those of one i together.
    static void dots(StridedVectors left, StridedVectors right, Sum* sums, CacheStrip strip) {
        if (right.count <= narrow) strip.ahead = 0;
        for_each_piece(right.count, [&]<int b>(int k, std::integral_constant<int, b>) {
            for_each_tile<tallest(b)>(left.count, [&]<int a>(int i, std::integral_constant<int, a>) {
                const auto across = static_cast<std::size_t>(right.count) * strip.period;
                dot_tile<a, b>(left[i], left.stride, right[k], right.stride,
                               sums + static_cast<std::size_t>(i) * across + static_cast<std::size_t>(k) * strip.period,
                               across, strip);
            });
            strip.ahead = 0;
        });
    }

    /// right_k += Σ left_i c(i, k), by lanes; c has a period for each pair, rows `coefficients.stride` apart.
    static void update(StridedVectors left, T* right, std::size_t right_stride, int right_count,
                       StridedVectors coefficients, CacheStrip strip) {
        if (right_count <= narrow) strip.ahead = 0;
        for_each_piece(right_count, [&]<int b>(int k, std::integral_constant<int, b>) {
            for_each_tile<tallest(b)>(left.count, [&]<int a>(int i, std::integral_constant<int, a>) {
                update_tile<a, b>(left[i], left.stride, right + static_cast<std::size_t>(k) * right_stride,
                                  right_stride, coefficients[i] + static_cast<std::size_t>(k) * strip.period,
                                  coefficients.stride, strip);
            });
            strip.ahead = 0;
        });
    }

private:
    template <class V>
    static Register load(const V* p) {
        return Registers::load(p);
    }
    template <class V>
    static void store(V* p, Register v) {
        Registers::store(p, v);
    }

    /// Cuts `count` into pieces of nearly equal size, none wider than a tile.
    template <class F>
    static void for_each_piece(int count, F&& f) {
        const int pieces = (count + widest - 1) / widest;
        for (int piece = 0, begin = 0; piece < pieces; ++piece) {
            const int end = count * (piece + 1) / pieces;
            dispatch<widest>(end - begin, [&](auto size) { f(begin, size); });
            begin = end;
        }
    }
    template <int tall, class F>
    static void for_each_tile(int count, F&& f) {
        for (int begin = 0; begin < count; begin += tall)
            dispatch<tall>(count - begin < tall ? count - begin : tall, [&](auto size) { f(begin, size); });
    }
    template <int most, class F>
    static void dispatch(int size, F&& f) {
        [&]<int... s>(std::integer_sequence<int, s...>) {
            ((size == s + 1 ? f(std::integral_constant<int, s + 1>{}) : void()), ...);
        }(std::make_integer_sequence<int, most>{});
    }

    template <int a, int b>
    static void dot_tile(const T* left, std::size_t left_stride, const T* right, std::size_t right_stride, Sum* sums,
                         std::size_t across, CacheStrip strip) {
        const std::size_t whole = strip.length / strip.period * strip.period;
        for (std::size_t lane = 0; lane < strip.period; lane += width) {
            Register sum[a][b];
            for (std::size_t i = 0; i < a; ++i)
                for (std::size_t k = 0; k < b; ++k) sum[i][k] = load(sums + i * across + k * strip.period + lane);
            for (std::size_t e = lane; e < whole; e += strip.period) {
                Register r[b];
                for (std::size_t k = 0; k < b; ++k) r[k] = load(right + k * right_stride + e);
                for (std::size_t i = 0; i < a; ++i) {
                    const T* const at = left + i * left_stride + e;
                    if (strip.ahead) __builtin_prefetch(at + strip.ahead, 0, 2);
                    const Register l = load(at);
                    for (std::size_t k = 0; k < b; ++k) sum[i][k] += inner<T>(l, r[k]);
                }
            }
            for (std::size_t i = 0; i < a; ++i)
                for (std::size_t k = 0; k < b; ++k) store(sums + i * across + k * strip.period + lane, sum[i][k]);
        }
        for (std::size_t e = whole; e < strip.length; ++e)
            for (std::size_t i = 0; i < a; ++i)
                for (std::size_t k = 0; k < b; ++k)
                    sums[i * across + k * strip.period + e - whole] +=
                        inner<T>(Sum{left[i * left_stride + e]}, Sum{right[k * right_stride + e]});
    }

    template <int a, int b>
    static void update_tile(const T* left, std::size_t left_stride, T* right, std::size_t right_stride, const T* c,
                            std::size_t across, CacheStrip strip) {
        const std::size_t whole = strip.length / strip.period * strip.period;
        for (std::size_t lane = 0; lane < strip.period; lane += width) {
            Register coefficient[a][b];
            for (std::size_t i = 0; i < a; ++i)
                for (std::size_t k = 0; k < b; ++k) coefficient[i][k] = load(c + i * across + k * strip.period + lane);
            for (std::size_t e = lane; e < whole; e += strip.period) {
                Register r[b];
                for (std::size_t k = 0; k < b; ++k) r[k] = load(right + k * right_stride + e);
                for (std::size_t i = 0; i < a; ++i) {
                    const T* const at = left + i * left_stride + e;
                    if (strip.ahead) __builtin_prefetch(at + strip.ahead, 0, 2);
                    const Register l = load(at);
                    for (std::size_t k = 0; k < b; ++k) r[k] += l * coefficient[i][k];
                }
                for (std::size_t k = 0; k < b; ++k) store(right + k * right_stride + e, r[k]);
            }
        }
        for (std::size_t e = whole; e < strip.length; ++e)  // rounded as in registers, wherever a row stands
            for (std::size_t k = 0; k < b; ++k) {
                Sum r{right[k * right_stride + e]};
                for (std::size_t i = 0; i < a; ++i)
                    r += Sum{left[i * left_stride + e]} * Sum{c[i * across + k * strip.period + e - whole]};
                right[k * right_stride + e] = static_cast<T>(r);
            }
    }
};

}  // namespace stretto
