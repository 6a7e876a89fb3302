// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"

namespace stretto {
namespace {

double parse_choice(const std::string& name, const OptionInfo& option, const std::string& text) {
    const auto found = std::ranges::find(option.choices, text);
    if (found == option.choices.end())
        throw InputError(
            refusal(fmt::format("{}: option {}={}", name, option.name, text), text, option.choices, "it takes"));
    return static_cast<double>(found - option.choices.begin());
}

double parse_number(const std::string& name, const OptionInfo& option, const std::string& text) {
    if (!option.choices.empty()) return parse_choice(name, option, text);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
    if (!is_number || value < option.minimum || value > option.maximum ||
        (option.integral && value != std::floor(value)))
        throw InputError(fmt::format(
            "{}: option {}={}: it takes {} {}", name, option.name, text, option.integral ? "an integer" : "a number",
            std::isinf(option.maximum) ? fmt::format("from {} up", option.minimum)
                                       : fmt::format("from {} to {}", option.minimum, option.maximum)));
    return value;
}

}  // namespace

Spec parse_spec(std::string_view text) {
    const auto fail = [&](std::string_view reason) {
        throw InputError(fmt::format("'{}': {} (expected: name:argument,…,option=value,…)", text, reason));
    };
    const auto colon = text.find(':');
    Spec spec{std::string(text), std::string(text.substr(0, colon)), {}, {}};
    if (spec.name.empty()) fail("the name is missing");
    if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
        std::string meant(text);
        std::replace(meant.begin() + static_cast<std::ptrdiff_t>(colon) + 1, meant.end(), ':', ',');
        throw InputError(fmt::format("'{}': after the first colon come commas: {}", text, meant));
    }
    for (auto begin = colon; begin != std::string_view::npos;) {
        const auto end = text.find(',', begin + 1);
        const auto argument = text.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1);
        begin = end;
        const auto equals = argument.find('=');
        if (argument.empty() || equals == 0) fail("an argument is missing");
        if (equals == std::string_view::npos) {
            spec.positional.emplace_back(argument);
            continue;
        }
        const auto key = argument.substr(0, equals);
        if (std::any_of(spec.options.begin(), spec.options.end(), [&](auto& option) { return option.first == key; }))
            fail(fmt::format("option '{}' is given twice", key));
        spec.options.emplace_back(key, argument.substr(equals + 1));
    }
    return spec;
}

Options::Options(const Spec& spec, std::span<const OptionInfo> table, std::size_t max_positional) : table_(table) {
    const auto refuse = [&](std::string_view what, std::string_view argument) {
        const auto complaint = fmt::format("{}: {} '{}'", spec.name, what, argument);
        if (table.empty()) throw InputError(complaint + "; it takes no options");
        throw InputError(refusal(complaint, argument, names_of(table, &OptionInfo::name), "it takes the options"));
    };
    if (spec.positional.size() > max_positional) refuse("unexpected argument", spec.positional[max_positional]);
    for (const auto& option : table) values_.push_back(option.default_value);
    for (const auto& [key, text] : spec.options) {
        const auto option = std::find_if(table.begin(), table.end(), [&](auto& info) { return info.name == key; });
        if (option == table.end()) refuse("unknown option", key);
        values_[static_cast<std::size_t>(option - table.begin())] = parse_number(spec.name, *option, text);
    }
}

bool Options::has(std::string_view name) const {
    return std::ranges::find(table_, name, &OptionInfo::name) != table_.end();
}
double Options::number(std::string_view name) const {
    for (std::size_t i = 0; i < table_.size(); ++i)
        if (table_[i].name == name) return values_[i];
    throw std::logic_error(fmt::format("no option '{}' in the table", name));
}

std::string_view Options::choice(std::string_view name) const {
    return std::ranges::find(table_, name, &OptionInfo::name)->choices[static_cast<std::size_t>(number(name))];
}

}  // namespace stretto
