// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <complex>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// What a method needs of A, and of M.
enum class Needs { any, symmetric, positive_definite };  // the last two: symmetric; M is positive definite for both
constexpr std::string_view name(Needs needs) {
    switch (needs) {
        case Needs::any: return "square";
        case Needs::symmetric: return "symmetric";
        case Needs::positive_definite: break;
    }
    return "symmetric positive definite";
}

/// Answers of a row that need no thought: `.vectors = stored<3, 4>` (without and with a preconditioner), `.flexible =
/// always`.
template <int plain, int preconditioned>
constexpr int stored(const Options&, bool M) {
    return M ? preconditioned : plain;
}
inline bool always(const Options&) { return true; }
inline bool never(const Options&) { return false; }

/// The loop of a method, for vectors of T.
template <class T>
using MethodText = void (*)(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b,
                            MultiVector<T> x, Verdict<T>& stop);

/// The registry row of a method: what the driver, the command line, the tables in the docs and the tests know
/// of it. A method is its header (the loop), its .cpp (this row) and its docs page, all of the same name.
struct Method {
    std::string_view name;
    std::string_view title;
    std::string_view source;   ///< paper and algorithm
    std::string_view classic;  ///< the method of its family to go on with when it gets no further
    int order;                 ///< in tables: the hundreds are the family
    Needs needs = Needs::any;
    bool transpose = false;   ///< needs products with Aᵀ and M⁻ᵀ
    bool hands_over = false;  ///< columns may go on with the method that the option `refuge` names
    /// Whether the preconditioner may be another one in each use.
    bool (*flexible)(const Options& options) = never;
    /// Stored beyond x and b.
    int (*vectors)(const Options& options, bool preconditioned);
    double applies;  ///< per iteration, as the next three
    double preconditionings;
    double reductions;
    double hidden_reductions;
    double hidden_reductions_preconditioned;
    std::span<const OptionInfo> options;
    /// Options, key=value with commas between, with which all its iterations are alike soon after the start. NORM
    /// stands for a bound of the eigenvalues of A M⁻¹.
    std::string_view steady{};
    MethodText<double> run;
    MethodText<float> run_single;
    /// Where scalars are complex; for a hermitian A, and so for all methods that need one, they are real.
    struct Complex {
        MethodText<std::complex<double>> run = nullptr;
        MethodText<std::complex<float>> run_single = nullptr;
    } complex{};
};

/// The loops for complex scalars, of text(std::type_identity<T>()), where they are built.
template <class Text>
constexpr Method::Complex complex_text(Text text) {
    if constexpr (scalar_is_built<std::complex<double>>)
        return {text(std::type_identity<std::complex<double>>()), text(std::type_identity<std::complex<float>>())};
    else
        return {};
}

/// Options that several methods take.
/// Chosen by measurement (docs/measured/long_solves.md), as `cosine`.
constexpr OptionInfo patience_option{
    "patience", 20000, 1, 1e9, "iterations in which the residual must halve, or the run is given up", true};
constexpr OptionInfo check_option(double iterations) {
    return {
        "check", iterations, 0, 1e9, "iterations between measurements of the residual gap; 0: never", true, {}, true};
}
/// Chosen by measurement (docs/measured/bicgstab_family.md), as the other defaults of BiCGStab methods.
constexpr OptionInfo breakdown_option{
    "breakdown", 1e-12, 0, 1, "cosine below which r counts as orthogonal to r0: then the run is given up"};
constexpr OptionInfo cosine_option{
    "cosine",
    0.05,
    0,
    1,
    "after two breakdowns: cosine of s and t below which omega is lengthened to what it is at this one; 0: never"};
/// √ε: half of the digits that r could have in common with b − A x.
constexpr OptionInfo gap_option{
    "gap", 1.5e-8, 0, 1, "the gap, relative to the residual, above which all is recomputed; 0: at every check"};

constexpr OptionInfo interval_option{
    "lmax",
    0,
    0,
    std::numeric_limits<double>::infinity(),
    "upper end of the interval of the basis, raised where Ritz values are above it; 0: from a Rayleigh quotient on"};
constexpr OptionInfo restart_option{"m", 30, 1, 1000, "columns of a cycle, then it restarts", true};
constexpr OptionInfo warmup_option{
    "warmup", 5, 2, 50, "first columns, which come as a block of powers of A and give the shifts", true};
inline constexpr std::string_view sides[] = {"right", "left"};
constexpr OptionInfo side_option{"side", 0, 0, 1, "of A on which the preconditioner stands", false, sides};

inline constexpr std::string_view refuges[] = {"cg", "pipelined_cg", "predict_and_recompute_cg", "s_step_cg"};
constexpr OptionInfo refuge_option(std::string_view by_default) {
    const auto place = std::ranges::find(refuges, by_default) - std::begin(refuges);
    return {"refuge", static_cast<double>(place), 0, 3, "what goes on when this method cannot", false, refuges};
}

}  // namespace stretto
