// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stretto {

/// Whether `text` is a number and nothing else; a leading + is allowed.
template <class T>
bool parse_number(std::string_view text, T& value) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// A whole number, written as 100000 or as 1e5; none where the text is something else.
inline std::optional<std::int64_t> parse_count(std::string_view text) {
    std::int64_t whole = 0;
    if (parse_number(text, whole)) return whole;
    constexpr double exact = 0x1p53;  // beyond it a double is no count
    double value = 0;
    if (text.find_first_of("eE") == text.npos || !parse_number(text, value) || !(std::abs(value) <= exact) ||
        value != std::floor(value))
        return std::nullopt;
    return static_cast<std::int64_t>(value);
}

/// Without the mark that some editors put before a text in UTF-8.
inline std::string_view without_byte_order_mark(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    return text;
}

/// A word as one types it in a shell: quoted where that would read more into it.
inline std::string shell_word(std::string_view text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=+-%@";
    if (!text.empty() && text.find_first_not_of(plain) == text.npos) return std::string(text);
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

}  // namespace stretto
