// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/execute/device/on_device.hpp"
#include "stretto/sparse/forms/packed_values.hpp"

namespace stretto {

/// Values as they are, or in single precision.
template <class X, class D, class Stored>
struct PlainValues {
    const OnDevice<Stored, D>* data;
    template <class Block>
    STRETTO_KERNEL X at(Block& block, std::size_t i) const {
        return static_cast<X>(block.at(data + i));
    }
};
/// Bytes that stand for the values of a table.
template <class X, class D>
struct CodedValues {
    const OnDevice<std::uint8_t, D>* codes;
    const OnDevice<X, D>* table;
    template <class Block>
    STRETTO_KERNEL X at(Block& block, std::size_t i) const {
        return block.at(table + static_cast<std::size_t>(block.at(codes + i)));
    }
};

/// Values of a matrix on a device, in the narrowest form that holds every one exactly (PackedValues). They come in
/// pieces, so that the host never has a second copy of all.
template <class X, class D>
class DeviceValues {
public:
    using Survey = typename PackedValues<X>::Survey;

    DeviceValues() = default;
    /// For `size` values, all of which were seen, but for those that nobody reads.
    DeviceValues(const Survey& survey, std::size_t size) : size_(size) {
        if (survey.few()) {
            codes_ = DeviceArray<std::uint8_t, D>(size);
            table_ = DeviceArray<X, D>(survey.table());
        } else if (survey.single()) {
            single_ = DeviceArray<float, D>(size);
        } else {
            values_ = DeviceArray<X, D>(size);
        }
    }
    /// Brings those from place `at` on.
    void put(const Survey& survey, std::size_t at, std::span<const X> values) {
        if (survey.few())
            put(codes_, at, values,
                [&](X value) { return static_cast<std::uint8_t>(std::max(0, survey.code(value))); });
        else if (survey.single())
            put(single_, at, values, [](X value) { return static_cast<float>(value); });
        else
            D::upload(values_.data() + at, values.data(), values.size_bytes());
    }
    /// Calls work(values), of which a kernel takes value i by at(block, i).
    template <class Work>
    void visit(Work&& work) const {
        if (codes_.size() > 0)
            work(CodedValues<X, D>{codes_.data(), table_.data()});
        else if (single_.size() > 0)
            work(PlainValues<X, D, float>{single_.data()});
        else
            work(PlainValues<X, D, X>{values_.data()});
    }
    double bytes() const {
        return static_cast<double>(size_ * (codes_.size() > 0 ? 1 : single_.size() > 0 ? sizeof(float) : sizeof(X)));
    }

private:
    template <class Stored, class Pack>
    static void put(const DeviceArray<Stored, D>& to, std::size_t at, std::span<const X> values, Pack&& pack) {
        std::vector<Stored> packed(values.size());
        std::ranges::transform(values, packed.begin(), pack);
        D::upload(to.data() + at, packed.data(), packed.size() * sizeof(Stored));
    }

    std::size_t size_ = 0;
    DeviceArray<std::uint8_t, D> codes_;
    DeviceArray<X, D> table_, values_;
    DeviceArray<float, D> single_;
};

}  // namespace stretto
