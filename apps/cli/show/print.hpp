// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <string>

// What is said to people. A disk may be full, a terminal gone: that ends no run, in which other ranks take part; main
// says it at the end.

/// errno of the first print_out that failed; 0: none has.
inline int output_error = 0;

inline void write_out(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size() && output_error == 0) output_error = errno;
}
template <class... T>
void print_out(fmt::format_string<T...> format, T&&... values) {
    write_out(fmt::format(format, std::forward<T>(values)...));
}
template <class... T>
void print_error(fmt::format_string<T...> format, T&&... values) {
    std::fputs(fmt::format(format, std::forward<T>(values)...).c_str(), stderr);
}
/// Whether all of it has been written.
inline bool flush_out() {
    if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
    return output_error == 0 && std::ferror(stdout) == 0;
}
