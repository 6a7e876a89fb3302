// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "../command.hpp"
#include "../files.hpp"
#include "../options.hpp"
#include "../show/print.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/core/instruction_set.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/hmatrix/kernels.hpp"
#include "stretto/io/complex_problem.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/precond/table.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

ordered_json describe(std::span<const OptionInfo> options) {
    auto list = ordered_json::array();
    for (const auto& option : options) {
        list.push_back({{"name", option.name},
                        {"default", option.default_value},
                        {"minimum", option.minimum},
                        {"maximum", option.maximum},
                        {"integral", option.integral},
                        {"help", option.help}});
        if (!option.choices.empty()) list.back()["choices"] = option.choices;
    }
    return list;
}

ordered_json describe(const Method& method) {
    const auto cost = [&](bool preconditioned) {
        const auto merged = iteration_cost(std::string(method.name), Formulation::merged, preconditioned);
        const auto basic = iteration_cost(std::string(method.name), Formulation::basic, preconditioned);
        return ordered_json{{"vectors_stored", vectors_stored(method, preconditioned)},
                            {"applies", merged.applies},
                            {"preconditionings", merged.preconditionings},
                            {"reductions", merged.reductions},
                            {"hidden_reductions", merged.hidden_reductions},
                            {"vector_reads", {{"basic", basic.vector_reads}, {"merged", merged.vector_reads}}},
                            {"vector_writes", {{"basic", basic.vector_writes}, {"merged", merged.vector_writes}}}};
    };
    return {{"name", method.name},
            {"title", method.title},
            {"source", method.source},
            {"classic", method.classic},
            {"needs", name(method.needs)},
            {"per_iteration", cost(false)},
            {"per_iteration_preconditioned", cost(true)},
            {"options", describe(method.options)}};
}

std::string traffic(const ordered_json& cost, const char* formulation) {
    return fmt::format("{:.3g}+{:.3g}", cost["vector_reads"][formulation].get<double>(),
                       cost["vector_writes"][formulation].get<double>());
}

void print_options(const ordered_json& options) {
    for (const auto& option : options) {
        const auto choices = option.value("choices", std::vector<std::string>());
        const auto value = option["default"].get<double>();
        print_out("      {}={}  {}{}\n", option["name"].get<std::string>(),
                  choices.empty() ? fmt::format("{}", value) : choices[static_cast<std::size_t>(value)],
                  option["help"].get<std::string>(),
                  choices.empty() ? "" : fmt::format(": one of {}", fmt::join(choices, ", ")));
    }
}

ordered_json describe_preconditioners(MatrixKind matrix) {
    auto list = ordered_json::array();
    for (const auto& kind : preconditioners())
        if (kind.takes(matrix))
            list.push_back({{"name", kind.name},
                            {"title", kind.title},
                            {"source", kind.source},
                            {"options", describe(kind.options)}});
    return list;
}

void print_text(const ordered_json& all) {
    print_out("Methods (vectors stored beyond x and b; vector reads+writes of an iteration, basic and merged)\n\n");
    for (const auto& method : all["methods"]) {
        print_out("  {}  {} — {}; A {}\n", method["name"].get<std::string>(), method["title"].get<std::string>(),
                  method["source"].get<std::string>(), method["needs"].get<std::string>());
        for (const auto* key : {"per_iteration", "per_iteration_preconditioned"}) {
            const auto& cost = method[key];
            print_out(
                "      {:<20} {:.3g} product{}, {:.3g} reduction{}, {:.3g} hidden, {} vectors; {} basic, {} merged\n",
                std::string_view(key) == "per_iteration" ? "no preconditioner:" : "preconditioned:",
                cost["applies"].get<double>(), cost["applies"] == 1.0 ? "" : "s", cost["reductions"].get<double>(),
                cost["reductions"] == 1.0 ? "" : "s", cost["hidden_reductions"].get<double>(),
                cost["vectors_stored"].get<int>(), traffic(cost, "basic"), traffic(cost, "merged"));
        }
        print_options(method["options"]);
    }
    print_out("  refine:inner=NAME[,…]  any of them on vectors in single precision, refined in double — Moler 1967\n");
    for (const auto& [title, key] : {std::pair("Preconditioners", "preconditioners"),
                                     std::pair("Preconditioners of hierarchical matrices (stretto bem, stretto kernel)",
                                               "hierarchical_preconditioners")}) {
        print_out("\n{}\n\n", title);
        for (const auto& kind : all[key]) {
            print_out("  {}  {}\n", kind["name"].get<std::string>(), kind["title"].get<std::string>());
            print_options(kind["options"]);
        }
    }
    for (const auto& [title, key] :
         {std::pair("Problems", "problems"), std::pair("Complex problems", "complex_problems"),
          std::pair("Boundary element problems (stretto bem)", "bem_problems"),
          std::pair("Kernels (stretto kernel)", "kernels")}) {
        print_out("\n{}\n\n", title);
        for (const auto& kind : all[key]) {
            const auto arguments = kind.value("arguments", "");
            print_out("  {}{}{}  {}\n", kind["name"].get<std::string>(), arguments.empty() ? "" : ":", arguments,
                      kind["help"].get<std::string>());
            print_options(kind["options"]);
        }
    }
}

struct ListArguments {
    std::string json;
};

void add(CLI::App& app, ListArguments& list) { add_json_option(app, list.json, "as JSON"); }

ordered_json tables() {
    ordered_json all{{"instruction_set", instruction_set()}};
    for (const Method* method : methods()) all["methods"].push_back(describe(*method));
    all["preconditioners"] = describe_preconditioners(MatrixKind::sparse);
    all["hierarchical_preconditioners"] = describe_preconditioners(MatrixKind::hierarchical);
    for (const auto& kind : problems())
        all["problems"].push_back({{"name", kind.name},
                                   {"arguments", kind.arguments},
                                   {"help", kind.help},
                                   {"positive_definite", kind.positive_definite},
                                   {"singular", kind.singular},
                                   {"options", describe(kind.options)}});
    for (const auto& kind : complex_problems())
        all["complex_problems"].push_back({{"name", kind.name},
                                           {"arguments", kind.arguments},
                                           {"help", kind.help},
                                           {"hermitian", kind.hermitian},
                                           {"options", describe(kind.options)}});
    for (const auto& kind : bem_problems())
        all["bem_problems"].push_back({{"name", kind.name},
                                       {"arguments", kind.arguments},
                                       {"help", kind.help},
                                       {"options", describe(kind.options)}});
    for (const auto& kind : kernel_kinds())
        all["kernels"].push_back({{"name", kind.name},
                                  {"help", kind.help},
                                  {"positive_definite", kind.positive_definite},
                                  {"options", describe(kind.options)}});
    return all;
}

int run(const Context& context, const ListArguments& arguments) {
    if (context.mpi->rank() != 0) return exit_converged;
    if (arguments.json.empty())
        print_text(tables());
    else
        write_json(arguments.json, tables());
    return exit_converged;
}

}  // namespace

const Command list_command =
    CommandOf<ListArguments>::row<add, run>("list", "Methods, preconditioners and problems, with options and costs");
