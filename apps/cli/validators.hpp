// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>

/// A number within limits, which excludes what is no number, with the message that it is not `what`.
inline CLI::Validator number(double minimum, double maximum, const char* what) {
    return {[=](std::string& text) -> std::string {
                double value = 0;
                const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
                const bool valid =
                    error == std::errc() && end == text.data() + text.size() && value >= minimum && value <= maximum;
                return valid ? "" : "'" + text + "' is not " + what;
            },
            "", "number"};
}
