// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/execute/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <numeric>
#include <type_traits>

#include "stretto/statements/scalar_traits.hpp"

// Compiled with -ffp-contract=off: what is split here is the rounded product, which a fused operation never sees.

namespace stretto {
namespace {

using Digit = ExactSum::Digit;
__extension__ typedef unsigned __int128 Wide;

constexpr int bits = 32, bias = 1023, mantissa = 52;
constexpr int unit = -1088;  // of the lowest digit: 2^unit, at most the smallest double, and whole digits below 1
constexpr std::uint64_t not_finite = 0x7ff;
constexpr std::size_t last = ExactSum::digits - 2;

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
double one_and_a_half_times_two_to(std::uint64_t exponent) {
    return std::bit_cast<double>(exponent << mantissa | std::uint64_t{1} << (mantissa - 1));
}

/// Adds one number to the digits that it reaches into.
void add_one(double value, Digit* sum) {
    const std::uint64_t all = bits_of(value), exponent = all >> mantissa & not_finite;
    if (exponent == not_finite) {
        Digit& rest = sum[last + 1];
        rest = std::bit_cast<std::int64_t>(std::bit_cast<double>(std::int64_t{rest}) + value);
        return;
    }
    const std::uint64_t fraction = all & ((std::uint64_t{1} << mantissa) - 1);
    const std::uint64_t whole = exponent > 0 ? fraction | std::uint64_t{1} << mantissa : fraction;
    const auto place = static_cast<std::size_t>(std::max<std::int64_t>(static_cast<std::int64_t>(exponent), 1) - bias -
                                                mantissa - unit);
    const Wide wide = Wide{whole} << place % bits;
    const auto digit = [&](int k) { return static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> k * bits)); };
    Digit* const at = sum + place / bits;
    if (all >> 63) {
        for (int k = 0; k < 3; ++k) at[k] -= digit(k);
    } else {
        for (int k = 0; k < 3; ++k) at[k] += digit(k);
    }
}

/// A number in two parts that are whole multiples of units for all numbers of its size and smaller, and what is left.
struct Split {
    double large, small;  // one and a half times the power of two whose last place is the unit
    struct Parts {
        double high, low, rest;
    };
    Parts operator()(double value) const {
        const double high = (value + large) - large, left = value - high, low = (left + small) - small;
        return {high, low, left - low};
    }
};
constexpr std::size_t together = 512;  // numbers whose parts add up without rounding: 9 bits, with the 44 of a part

/// sum += Σ values[i · stride]. Neighbouring numbers are mostly of a size: their parts are added up as doubles first.
template <class Stride>
void add_all(const double* values, std::size_t count, Stride stride, Digit* sum) {
    std::uint64_t most = 0;
#pragma omp simd reduction(max : most)
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t size = bits_of(values[i * stride]) << 1;
        most = size > most ? size : most;
    }
    if (most == 0) return;
    // Where the parts would leave what doubles can be, numbers are taken one by one.
    constexpr std::uint64_t above = 9, below = 36, smallest = 200, largest = 2000;
    const std::uint64_t exponent = most >> (mantissa + 1);
    if (exponent < smallest || exponent > largest) {
        for (std::size_t i = 0; i < count; ++i) add_one(values[i * stride], sum);
        return;
    }
    const Split split{one_and_a_half_times_two_to(exponent + above), one_and_a_half_times_two_to(exponent - below)};
    double high = 0, low = 0;
    std::uint64_t left = 0;
#pragma omp simd reduction(+ : high, low) reduction(| : left)
    for (std::size_t i = 0; i < count; ++i) {
        const auto parts = split(values[i * stride]);
        high += parts.high;
        low += parts.low;
        left |= bits_of(parts.rest) << 1;
    }
    add_one(high, sum);
    add_one(low, sum);
    if (left == 0) return;
    for (std::size_t i = 0; i < count; ++i)
        if (const double rest = split(values[i * stride]).rest; rest != 0) add_one(rest, sum);
}

void add_columns(const double* values, std::size_t rows, std::size_t stride, Digit* sum) {
    if (stride == 1)
        add_all(values, rows, std::integral_constant<std::size_t, 1>{}, sum);
    else
        add_all(values, rows, stride, sum);
}

/// Adds digits with their carries brought on: from −2³¹ up to 2³¹, but for the last.
template <class Take>
void carried(const Take& take, std::span<std::int64_t> to) {
    std::int64_t carry = 0;
    for (std::size_t k = 0; k < last; ++k) {
        const std::int64_t here = take(k) + carry;
        const auto digit = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(here)));
        to[k] += digit;
        carry = (here - digit) >> bits;
    }
    to[last] += take(last) + carry;
}

}  // namespace

template <class T>
void ExactSum::add_products(const T* left, const T* right, std::size_t length, std::size_t columns, Digit* sums) {
    using Part = sum_of<real_of<T>>;
    static_assert(std::same_as<Part, double>);
    double products[together];
    constexpr auto parts = static_cast<std::size_t>(reals_in<T>);
    const std::size_t step = together / (parts * columns) * columns;
    for (std::size_t begin = 0; begin < length; begin += step) {
        const std::size_t here = std::min(step, length - begin), rows = here / columns;
        const T *const a = left + begin, *const b = right + begin;
        if constexpr (is_complex<T>) {
            for (const bool imaginary : {false, true}) {
                for (std::size_t i = 0; i < here; ++i) {
                    products[2 * i] = a[i].real() * (imaginary ? b[i].imag() : b[i].real());
                    products[2 * i + 1] = a[i].imag() * (imaginary ? -b[i].real() : b[i].imag());
                }
                for (std::size_t j = 0; j < 2 * columns; ++j)
                    add_columns(products + j, rows, 2 * columns, sums + (j / 2 * 2 + imaginary) * digits);
            }
        } else {
            for (std::size_t i = 0; i < here; ++i) products[i] = double{a[i]} * double{b[i]};
            for (std::size_t j = 0; j < columns; ++j) add_columns(products + j, rows, columns, sums + j * digits);
        }
    }
}
template void ExactSum::add_products(const double*, const double*, std::size_t, std::size_t, Digit*);
template void ExactSum::add_products(const float*, const float*, std::size_t, std::size_t, Digit*);
template void ExactSum::add_products(const std::complex<double>*, const std::complex<double>*, std::size_t, std::size_t,
                                     Digit*);

void ExactSum::add(const Digit* sum) {
    carried([&](std::size_t k) { return std::int64_t{sum[k]}; }, digits_);
    not_finite_ += std::bit_cast<double>(std::int64_t{sum[last + 1]});
}

double* ExactSum::put(double* numbers) const {
    std::array<std::int64_t, digits - 1> all{};
    carried([&](std::size_t k) { return digits_[k]; }, all);
    numbers = std::transform(all.begin(), all.end(), numbers, [](std::int64_t d) { return static_cast<double>(d); });
    *numbers = not_finite_;
    return numbers + 1;
}

double ExactSum::value(const double* numbers) {
    if (numbers[last + 1] != 0) return numbers[last + 1];  // NaN too
    std::array<std::int64_t, digits - 1> all{};
    carried([&](std::size_t k) { return static_cast<std::int64_t>(numbers[k]); }, all);
    // Its sign is that of the first digit that is not zero; of the size digits from 0 to 2³² are all alike.
    std::size_t first = last;
    while (first > 0 && all[first] == 0) --first;
    const bool negative = all[first] < 0;
    std::int64_t carry = 0;
    for (std::int64_t& digit : all) {
        const std::int64_t here = (negative ? -digit : digit) + carry;
        digit = static_cast<std::int64_t>(static_cast<std::uint32_t>(here));
        carry = here >> bits;
    }
    first = last;
    while (first > 0 && all[first] == 0) --first;
    if (first < 2) {
        const auto low =
            static_cast<double>(static_cast<std::uint64_t>(all[1]) << bits | static_cast<std::uint64_t>(all[0]));
        return std::ldexp(negative ? -low : low, unit);
    }
    // Three digits, and whether there is something behind them, are rounded as all are.
    Wide leading = 0;
    for (std::size_t k = 0; k < 3; ++k) leading = leading << bits | static_cast<Wide>(all[first - k]);
    if (std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first - 2), [](auto d) { return d != 0; }))
        leading |= 1;
    const double value = std::ldexp(static_cast<double>(leading), static_cast<int>(first - 2) * bits + unit);
    return negative ? -value : value;
}

std::vector<double> all_dots(const Comm& comm, std::span<const std::span<const double>> left,
                             std::span<const double> right) {
    const bool exact = comm.reproducible();
    std::vector<double> sums;
    for (const auto& each : left) {
        if (!exact) {
            sums.push_back(std::inner_product(each.begin(), each.end(), right.begin(), 0.0));
            continue;
        }
        Digit mine[ExactSum::digits] = {};
        ExactSum::add_products(each.data(), right.data(), each.size(), 1, mine);
        ExactSum sum;
        sum.add(mine);
        sums.resize(sums.size() + ExactSum::digits);
        sum.put(sums.data() + sums.size() - ExactSum::digits);
    }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, comm.mpi());
    if (!exact) return sums;
    std::vector<double> values;
    for (std::size_t k = 0; k < sums.size(); k += ExactSum::digits) values.push_back(ExactSum::value(sums.data() + k));
    return values;
}

}  // namespace stretto
