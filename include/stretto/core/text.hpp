// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <string_view>

namespace stretto {

/// Whether `text` is a number and nothing else; a leading + is allowed.
template <class T>
bool parse_number(std::string_view text, T& value) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// Without the mark that some editors put before a text in UTF-8.
inline std::string_view without_byte_order_mark(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    return text;
}

}  // namespace stretto
