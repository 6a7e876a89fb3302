// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "stretto/core/buffer.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// Bytes that stand for the values of a table.
template <class T>
struct Coded {
    const std::uint8_t* codes;
    const T* table;
    T operator[](std::size_t i) const { return table[codes[i]]; }
    Coded operator+(std::size_t n) const { return {codes + n, table}; }
    Coded& operator+=(std::size_t n) {
        codes += n;
        return *this;
    }
};

template <class T>
void prefetch_value(const T* values) {
    __builtin_prefetch(values);
}
template <class T>
void prefetch_value(const Coded<T>& values) {
    __builtin_prefetch(values.codes);
}

/// Bytes that a product reads for a value behind such a pointer.
template <class V>
inline constexpr std::size_t element_size = sizeof(std::remove_cvref_t<decltype(std::declval<V>()[0])>);
template <class T>
inline constexpr std::size_t element_size<Coded<T>> = 1;

/// `width` values, so many ahead: each cache line once.
template <class V>
void prefetch_values(const V& values, std::size_t ahead, std::size_t width) {
    for (std::size_t at = 0; at < width; at += 64 / element_size<V>) prefetch_value(values + (ahead + at));
}

/// Values of a matrix in the narrowest form that holds every one exactly: one byte each where they are at most 256
/// different ones, single precision, or as they are.
template <class T>
class PackedValues {
public:
    /// What the values seen so far can be kept as.
    class Survey {
    public:
        void see(T value);
        const auto& table() const { return table_; }
        bool few() const { return few_; }        ///< one byte each
        bool single() const { return single_; }  ///< single precision
        /// The byte of a value, where they are few; −1 where it was not seen.
        int code(T value) const { return numbers_[slot(value)]; }

    private:
        friend PackedValues;
        using Bits = std::array<std::uint32_t, sizeof(T) / sizeof(std::uint32_t)>;

        static constexpr int most = 256, slots = 1024;  // a hash table of values, by their bits
        std::array<std::int16_t, slots> numbers_ = filled();
        std::array<T, most> table_ = {};
        int different_ = 0;
        bool few_ = true, single_ = true;

        static constexpr std::array<std::int16_t, slots> filled() {
            std::array<std::int16_t, slots> all{};
            all.fill(-1);
            return all;
        }
        static Bits bits(T value) { return std::bit_cast<Bits>(value); }
        std::size_t slot(T value) const;
    };

    PackedValues() = default;
    /// `fill(put)` calls put(value) `size` times, for values that were seen. Reading `ahead` more does no harm.
    template <class Fill>
    PackedValues(const Survey& survey, std::size_t size, std::size_t ahead, Fill&& fill) : size_(size) {
        if (survey.few_) {
            table_ = survey.table_;
            Buffer<std::uint8_t> codes(size + ahead);
            fill([&survey, to = codes.data()](T value) mutable {
                *to++ = static_cast<std::uint8_t>(survey.code(value));
            });
            stored_.template emplace<2>(std::move(codes));
        } else if (survey.single_) {
            Buffer<Single<T>> values(size + ahead);
            fill([to = values.data()](T value) mutable { *to++ = static_cast<Single<T>>(value); });
            stored_.template emplace<1>(std::move(values));
        } else {
            Buffer<T> values(size + ahead);
            fill([to = values.data()](T value) mutable { *to++ = value; });
            stored_.template emplace<0>(std::move(values));
        }
    }

    /// Calls work(values), which can be indexed, and moved on with +=.
    template <class Work>
    void visit(Work&& work) const {
        if (const auto* codes = std::get_if<2>(&stored_))
            work(Coded<T>{codes->data(), table_.data()});
        else if (const auto* single = std::get_if<1>(&stored_))
            work(static_cast<const Single<T>*>(single->data()));
        else
            work(static_cast<const T*>(std::get<0>(stored_).data()));
    }

    /// Bytes of a value.
    std::size_t width() const {
        constexpr std::size_t widths[] = {sizeof(T), sizeof(Single<T>), 1};
        return widths[stored_.index()];
    }
    double bytes() const { return static_cast<double>(size_ * width()); }

private:
    std::size_t size_ = 0;
    std::array<T, Survey::most> table_ = {};
    std::variant<Buffer<T>, Buffer<Single<T>>, Buffer<std::uint8_t>> stored_;
};

extern template class PackedValues<double>;
extern template class PackedValues<float>;
#if STRETTO_COMPLEX
extern template class PackedValues<std::complex<double>>;
extern template class PackedValues<std::complex<float>>;
#endif

}  // namespace stretto
