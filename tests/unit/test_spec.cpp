// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/spec.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/text.hpp"
#include "stretto/driver/registry.hpp"

namespace stretto {
namespace {

constexpr OptionInfo table[] = {
    {"check", 50, 0, 1e9, "iterations between checks", true},
    {"shift", -0.5, -1, 1, "of the spectrum"},
    {"depth", 1, 1, std::numeric_limits<double>::infinity(), "of the pipeline", true},
};

std::string refusal(std::string_view text, std::size_t max_positional = 0) {
    try {
        Options(parse_spec(text), table, max_positional);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Spec, Parses) {
    const Spec spec = parse_spec("diagonal:poisson2d,64,peclet=2e1,note=a=b");
    EXPECT_EQ(spec.text, "diagonal:poisson2d,64,peclet=2e1,note=a=b");
    EXPECT_EQ(spec.name, "diagonal");
    EXPECT_EQ(spec.positional, (std::vector<std::string>{"poisson2d", "64"}));
    ASSERT_EQ(spec.options.size(), 2u);
    EXPECT_EQ(spec.options[0], std::pair(std::string("peclet"), std::string("2e1")));
    EXPECT_EQ(spec.options[1], std::pair(std::string("note"), std::string("a=b")));

    const Spec bare = parse_spec("cg");
    EXPECT_EQ(bare.name, "cg");
    EXPECT_TRUE(bare.positional.empty() && bare.options.empty());
}

TEST(Spec, RefusesWhatCannotBeParsed) {
    for (const auto* text : {"", ":", ":5", "cg:", "cg:,", "cg:5,", "cg:,5", "cg:=5", "cg:check=1,check=2"})
        EXPECT_THROW(parse_spec(text), InputError) << text;
}

TEST(Options, GivenOrDefault) {
    const Options options(parse_spec("cg:check=25,shift=-1e-1"), table);
    EXPECT_EQ(options.number("check"), 25);
    EXPECT_EQ(options.number("shift"), -0.1);
    EXPECT_EQ(options.number("depth"), 1);
    EXPECT_THROW(options.number("chek"), std::logic_error);
    EXPECT_EQ(Options(parse_spec("cg:depth=1e3"), table).number("depth"), 1000);
}

TEST(Options, RefusalsNameOptionValueAndWhatIsAllowed) {
    EXPECT_EQ(refusal("cg:chek=5"),
              "cg: unknown option 'chek': did you mean check? It takes the options: check, shift, depth");
    EXPECT_EQ(refusal("cg:foo=5"), "cg: unknown option 'foo'; it takes the options: check, shift, depth");
    EXPECT_EQ(refusal("cg:tol=5"),
              "cg: unknown option 'tol': did you mean --rtol? It takes the options: check, shift, depth");
    EXPECT_EQ(refusal("cg:check=5:depth=2"),
              "'cg:check=5:depth=2': after the first colon come commas: cg:check=5,depth=2");
    EXPECT_EQ(refusal("cg:check=2.5"), "cg: option check=2.5: it takes an integer from 0 to 1000000000");
    EXPECT_EQ(refusal("cg:shift=1.5"), "cg: option shift=1.5: it takes a number from -1 to 1");
    EXPECT_EQ(refusal("cg:depth=0"), "cg: option depth=0: it takes an integer from 1 up");
    EXPECT_EQ(refusal("cg:7"), "cg: unexpected argument '7'; it takes the options: check, shift, depth");
    EXPECT_EQ(refusal("cg:7", 1), "accepted");
    for (const auto* value : {"", "nan", "inf", "-inf", "1e999", "x", "1x", " 1", "0x10", "-1", "1e10"})
        EXPECT_NE(refusal(std::string("cg:check=") + value), "accepted") << value;
}

TEST(Options, NoneToTake) {
    EXPECT_NO_THROW(Options(parse_spec("jacobi"), {}));
    try {
        Options(parse_spec("jacobi:check=1"), {});
        ADD_FAILURE();
    } catch (const InputError& error) {
        EXPECT_STREQ(error.what(), "jacobi: unknown option 'check'; it takes no options");
    }
}

TEST(Names, WhatIsMeant) {
    constexpr std::string_view methods[] = {"cg",       "pipelined_cg",       "flexible_cg",
                                            "bicgstab", "pipelined_bicgstab", "gmres"};
    constexpr std::string_view preconds[] = {"none", "jacobi", "block_jacobi", "additive_schwarz"};
    constexpr std::string_view options[] = {"--rtol", "--max-it", "--method", "--precond"};
    for (const auto& [typed, expected] : {std::pair("CG", "cg"),
                                          {"gmers", "gmres"},
                                          {"pipelinedcg", "pipelined_cg"},
                                          {"bicg", "bicgstab"},
                                          {"BiCG-Stab", "bicgstab"},
                                          {"pipelined", "pipelined_cg or pipelined_bicgstab"},
                                          {"quux", ""},
                                          {"", ""},
                                          {"x", ""},
                                          {"--", ""}})
        EXPECT_EQ(meant(typed, methods), expected) << typed;
    EXPECT_EQ(meant("ilu0", preconds), "block_jacobi:ilu0");
    EXPECT_EQ(meant("ILU(0)", preconds), "block_jacobi:ilu0");
    EXPECT_EQ(meant("ilut", methods), "");
    EXPECT_EQ(meant("jakobi", preconds), "jacobi");
    for (const auto& [typed, expected] : {std::pair("--metod", "--method"),
                                          {"--tol", "--rtol"},
                                          {"-tol", "--rtol"},
                                          {"--max_it", "--max-it"},
                                          {"--maxiter", "--max-it"},
                                          {"--pc", "--precond"},
                                          {"--x0", ""},
                                          {"--nope", ""}})
        EXPECT_EQ(meant(typed, options), expected) << typed;
    EXPECT_EQ(stretto::refusal("no 'bicg'", "bicg", methods),
              "no 'bicg': did you mean bicgstab? There are: cg, pipelined_cg, flexible_cg, bicgstab, "
              "pipelined_bicgstab, gmres");
    EXPECT_EQ(stretto::refusal("no 'quux'", "quux", preconds, "it takes"),
              "no 'quux'; it takes: none, jacobi, block_jacobi, additive_schwarz");
}

TEST(Text, Counts) {
    for (const auto& [text, value] :
         {std::pair("7", 7L), {"1e5", 100000L}, {"+2.5e1", 25L}, {"-3", -3L}, {"9007199254740993", 9007199254740993L}})
        EXPECT_EQ(parse_count(text), value) << text;
    for (const auto* text : {"", "1.5", "5.0", "1e-1", "1e300", "nan", "inf", "x", "1x", " 1"})
        EXPECT_FALSE(parse_count(text)) << text;
}

// A gap of deep_pipelined_cg is over the tolerance, one of s_step_cg relative to the residual.
TEST(Options, GoOverToAnotherMethodWhereTheyMeanTheSame) {
    const Options options = options_for(
        parse_spec("deep_pipelined_cg:gap=10,patience=7,check=9,lmax=2,refuge=s_step_cg"), find_method("s_step_cg"));
    EXPECT_EQ(options.number("gap"), 1.5e-8);
    EXPECT_EQ(options.number("lmax"), 0);
    EXPECT_EQ(options.number("patience"), 7);
    EXPECT_EQ(options.number("check"), 9);
    const Options same = options_for(parse_spec("deep_pipelined_cg:gap=10"), find_method("deep_pipelined_cg"));
    EXPECT_EQ(same.number("gap"), 10);
}

TEST(Random, UniformAndSettledByPlace) {
    EXPECT_EQ(splitmix64(0), 0xe220a8397b1dcdafu);  // first output of the reference code for seed 0
    double sum = 0, squares = 0, lowest = 1, highest = -1;
    const int count = 100000;
    for (int i = 0; i < count; ++i) {
        const double value = uniform(1, i / 10, i % 10);
        sum += value;
        squares += value * value;
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
    }
    EXPECT_NEAR(sum / count, 0, 0.01);
    EXPECT_NEAR(squares / count, 1.0 / 3, 0.01);
    EXPECT_GE(lowest, -1);
    EXPECT_LT(highest, 1);
    EXPECT_NE(uniform(1, 2, 3), uniform(2, 2, 3));
    EXPECT_NE(uniform(1, 2, 3), uniform(1, 3, 2));
    EXPECT_EQ(uniform(1, 2), uniform(1, 2, 0));
}

}  // namespace
}  // namespace stretto
