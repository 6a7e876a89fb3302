// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stretto {

/// What a user typed to choose a method, a preconditioner or a problem: `name:positional,…,key=value,…`.
struct Spec {
    std::string text, name;
    std::vector<std::string> positional;
    std::vector<std::pair<std::string, std::string>> options;
};

/// Throws InputError for an empty name or argument and for an option given twice.
Spec parse_spec(std::string_view text);

/// An option that takes a number, or one of several words, as the tables of methods, preconditioners and problems list
/// it.
struct OptionInfo {
    std::string_view name;
    double default_value, minimum, maximum;  // the bounds are allowed; the maximum may be infinite
    std::string_view help;
    bool integral = false;
    std::span<const std::string_view> choices{};  // words; its numbers are then their places
    bool safeguard = false;                       // how often one acts that iterations could do without; 0: never

    /// Whether both mean the same; their defaults may differ.
    friend bool operator==(const OptionInfo& a, const OptionInfo& b) {
        return a.name == b.name && a.help == b.help && a.minimum == b.minimum && a.maximum == b.maximum;
    }
};

/// The words of an option that says how numbers are kept.
inline constexpr std::string_view precisions[] = {"double", "single"};

/// The options of a spec, checked against the table of those that its name takes.
class Options {
public:
    /// Throws InputError, naming the option, its value and what is allowed, for an unknown option, for a
    /// value that is not a number or out of range, and for more than `max_positional` positional arguments.
    Options(const Spec& spec, std::span<const OptionInfo> table, std::size_t max_positional = 0);

    bool has(std::string_view name) const;
    /// The value given, else the default. `name` must be in the table (std::logic_error).
    double number(std::string_view name) const;
    /// The word given, else the default, of an option that has choices.
    std::string_view choice(std::string_view name) const;

private:
    std::span<const OptionInfo> table_;
    std::vector<double> values_;  // in the order of the table
};

}  // namespace stretto
