// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/execute/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numeric>

#include "stretto/execute/cpu/panel_kernels.hpp"
#include "stretto/statements/scalar_traits.hpp"

// Compiled with -ffp-contract=off: what is split here is the rounded product, which a fused operation never sees.

namespace stretto {
namespace {

using Digit = ExactSum::Digit;
constexpr int levels = static_cast<int>(ExactLayout::levels);
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

using Registers = KernelRegister<double>;
typedef double Register __attribute__((vector_size(Registers::width * sizeof(double))));
constexpr std::size_t width = Registers::width;
constexpr std::size_t together = 512;  // numbers whose parts add up without rounding: 9 bits, with the 44 of a part

/// Numbers, the same of each lane of a register, in parts that are whole multiples of units, and what is left.
/// `window` is one and a half times a power of two, whose last place is the unit of the first part.
template <class Number>
struct Split {
    Number window, parts[levels], rest;
    explicit Split(Number of_lane) : window(of_lane) {}
    void operator()(Number value) {
        Number step = window;
        rest = value;
        for (Number& part : parts) {
            part = (rest + step) - step;
            rest -= part;
            step *= 0x1p-45;
        }
    }
};
constexpr std::uint64_t above = 9;                       // binades of a window's number over those that it is for
constexpr std::uint64_t margin = 16;                     // and of these over what a lane begins with
constexpr std::uint64_t smallest = 200, largest = 1900;  // exponents of products that have a window

/// The lanes of one part of a dot product that make a register.
struct Lanes {
    const ExactLayout& layout;
    double* all;
    std::size_t part, first;
    double* windows = all + layout.lanes_at(part) + first;

    double& at(int level, std::size_t lane) const {
        return windows[static_cast<std::size_t>(level + 1) * layout.lanes + lane];
    }
    Digit* sum(std::size_t lane) const { return reinterpret_cast<Digit*>(all) + layout.sum_at(first + lane, part); }
    void finish() const {
        for (std::size_t lane = 0; lane < width; ++lane)
            for (int level = 0; level < levels; ++level)
                if (double& held = at(level, lane); held != 0) {
                    add_one(held, sum(lane));
                    held = 0;
                }
    }
    /// The numbers of a register every `stride` numbers.
    void add(const double* numbers, std::size_t count, std::size_t stride) const {
        if (take(numbers, count, stride, count * width / 8)) return;
        finish();
        if (look_at(numbers, count, stride))
            take(numbers, count, stride, count * width);
        else
            for_each(numbers, count, stride, [](double value, std::size_t) { return value; });
    }

private:
    /// Unless one is above its window, or more than `most` leave a rest. The rests become digits at once.
    bool take(const double* numbers, std::size_t count, std::size_t stride, std::size_t most) const {
        Split<Register> split(Registers::load(windows));
        const Register limit = split.window * 0x1p-9;
        Register sum[levels];
        for (int level = 0; level < levels; ++level) sum[level] = Registers::load(&at(level, 0));
        auto inside = limit >= -limit;  // all
        auto rests = limit < -limit;    // none
        for (std::size_t k = 0; k < count; ++k) {
            const Register value = Registers::load(numbers + k * stride);
            split(value);
            inside &= (value <= limit) & (value >= -limit);
            rests += split.rest != 0;
            for (int level = 0; level < levels; ++level) sum[level] += split.parts[level];
        }
        std::size_t left = 0;
        if (const auto unusual = rests | ~inside; any(reinterpret_cast<const std::int64_t*>(&unusual)))
            for (std::size_t lane = 0; lane < width; ++lane) {
                if (!inside[lane]) return false;
                left += static_cast<std::size_t>(-rests[lane]);
            }
        if (left > most) return false;
        for (int level = 0; level < levels; ++level) Registers::store(&at(level, 0), sum[level]);
        if (left > 0)
            for_each(numbers, count, stride, [&](double value, std::size_t lane) {
                Split<double> parts(windows[lane]);
                parts(value);
                return parts.rest;
            });
        return true;
    }
    /// Gives each lane a window for these numbers. Returns false where there is none.
    bool look_at(const double* numbers, std::size_t count, std::size_t stride) const {
        for (std::size_t lane = 0; lane < width; ++lane) {
            std::uint64_t most = 0;
            for (std::size_t k = 0; k < count; ++k) most = std::max(most, bits_of(numbers[k * stride + lane]) << 1);
            const std::uint64_t exponent = std::max(most >> (mantissa + 1), smallest);
            if (exponent > largest) return false;
            if (most > 0) windows[lane] = one_and_a_half_times_two_to(exponent + margin + above);
        }
        return true;
    }
    static bool any(const std::int64_t* flags) {
        std::int64_t found = 0;
        for (std::size_t lane = 0; lane < width; ++lane) found |= flags[lane];
        return found != 0;
    }
    template <class What>
    void for_each(const double* numbers, std::size_t count, std::size_t stride, const What& what) const {
        for (std::size_t k = 0; k < count; ++k)
            for (std::size_t lane = 0; lane < width; ++lane)
                if (const double value = what(numbers[k * stride + lane], lane); value != 0) add_one(value, sum(lane));
    }
};

/// The rounded products that make a part of a dot product.
template <class T>
void multiply(const T* left, const T* right, std::size_t count, std::size_t part, double* products) {
    if constexpr (is_complex<T>) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::complex<double> a = left[i], b = right[i];
            products[2 * i] = a.real() * (part == 1 ? b.imag() : b.real());
            products[2 * i + 1] = a.imag() * (part == 1 ? -b.real() : b.imag());
        }
    } else {
        for (std::size_t i = 0; i < count; ++i) products[i] = double{left[i]} * double{right[i]};
    }
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

ExactLayout::ExactLayout(std::size_t of_columns, std::size_t of_parts) : columns(of_columns), parts(of_parts), rows(1) {
    const std::size_t whole = std::lcm(products(), width);
    if (whole <= 64) rows = whole / products();
    lanes = (rows * products() + width - 1) / width * width;
    step = together / lanes * rows * columns;
}

template <class T>
void ExactSums<T>::add(std::size_t dot, const T* left, const T* right, std::size_t length) const {
    double* const numbers = numbers_ + dot * layout_->size();
    double& held = numbers[layout_->size() - 1];
    double products[together];
    // Rows that stand side by side in the lanes; what fills up the last register are zeros.
    const std::size_t used = layout_->rows * layout_->columns, step = layout_->step;
    const std::size_t in_one = used * parts == layout_->lanes ? step : used;
    for (std::size_t begin = 0; begin < length; begin += step) {
        const std::size_t here = std::min(step, length - begin), count = (here + used - 1) / used;
        if (held + static_cast<double>(count) > together) finish(dot);
        held += static_cast<double>(count);
        for (std::size_t part = 0; part < parts; ++part) {
            if (count * used != here || in_one != step) std::fill_n(products, count * layout_->lanes, 0.0);
            double* to = products;
            for (std::size_t i = 0; i < here; i += in_one, to += layout_->lanes)
                multiply(left + begin + i, right + begin + i, std::min(in_one, here - i), part, to);
            for (std::size_t first = 0; first < layout_->lanes; first += width)
                Lanes{*layout_, numbers, part, first}.add(products + first, count, layout_->lanes);
        }
    }
}

template <class T>
void ExactSums<T>::finish(std::size_t dot) const {
    double* const numbers = numbers_ + dot * layout_->size();
    for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t first = 0; first < layout_->lanes; first += width)
            Lanes{*layout_, numbers, part, first}.finish();
    numbers[layout_->size() - 1] = 0;
}

template class ExactSums<double>;
template class ExactSums<float>;
template class ExactSums<std::complex<double>>;
template class ExactSums<std::complex<float>>;

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
        const auto layout = ExactSums<double>::layout(1);
        std::vector<double> numbers(layout.size());
        const ExactSums<double> mine(numbers.data(), layout);
        mine.add(0, each.data(), right.data(), each.size());
        mine.finish(0);
        ExactSum sum;
        sum.add(mine.sum(0, 0, 0));
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
