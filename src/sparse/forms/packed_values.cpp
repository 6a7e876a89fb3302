// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/forms/packed_values.hpp"

namespace stretto {

/// Where the value stands in the hash table, or the free place for it.
template <class T>
std::size_t PackedValues<T>::Survey::slot(T value) const {
    const Bits own = bits(value);
    std::uint64_t hash = 0;
    for (const std::uint32_t part : own) hash = (hash + part) * 0x9E3779B97F4A7C15u;
    auto at = static_cast<std::size_t>(hash >> 54);
    const auto is = [&](std::int16_t number) {  // 0 and −0 are two
        return bits(table_[static_cast<std::size_t>(number)]) == own;
    };
    while (numbers_[at] >= 0 && !is(numbers_[at])) at = (at + 1) % slots;
    return at;
}

template <class T>
void PackedValues<T>::Survey::see(T value) {
    single_ = single_ && static_cast<T>(static_cast<Single<T>>(value)) == value;
    if (!few_) return;
    const auto at = slot(value);
    if (numbers_[at] >= 0) return;
    few_ = different_ < most;
    if (!few_) return;
    numbers_[at] = static_cast<std::int16_t>(different_);
    table_[static_cast<std::size_t>(different_++)] = value;
}

template class PackedValues<double>;
template class PackedValues<float>;
#if STRETTO_COMPLEX
template class PackedValues<std::complex<double>>;
template class PackedValues<std::complex<float>>;
#endif

}  // namespace stretto
