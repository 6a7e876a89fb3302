// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stretto/convergence/stop.hpp"
#include "stretto/core/spec.hpp"

namespace stretto {

/// The registry row of a method: what the driver, the command line, the tables in the docs and the tests know
/// of it. A method is its header (the loop), its .cpp (this row) and its docs page, all of the same name.
struct Method {
    std::string_view name;
    std::string_view title;
    std::string_view source;   ///< paper and algorithm
    std::string_view classic;  ///< the method of its family to go on with when it gets no further
    bool hands_over = false;   ///< columns may go on with the method that the option `refuge` names
    bool positive_definite;    ///< needs A and M symmetric positive definite
    bool transpose = false;    ///< needs products with Aᵀ and M⁻ᵀ
    int vectors;               ///< stored beyond x and b, without a preconditioner
    int vectors_preconditioned;
    /// The same where the options decide; the two above are those of the defaults.
    int (*vectors_with)(const Options& options, bool preconditioned) = nullptr;
    double applies;  ///< per iteration, as the next three
    double preconditionings;
    double reductions;
    double hidden_reductions;
    double hidden_reductions_preconditioned;
    std::span<const OptionInfo> options;
    /// An option, key=value, with which all its iterations are alike soon after the start.
    std::string_view steady{};
    void (*run)(Space<double>& V, const LinearMap<double>& A, const LinearMap<double>& M, MultiVector<double> b,
                MultiVector<double> x, Stop<double>& stop);
};

/// Options that several methods take, each with a default of its own.
constexpr OptionInfo patience_option(double iterations) {
    return {
        "patience", iterations, 1, 1e9, "iterations in which the recursive residual must halve, or the run is given up",
        true};
}
constexpr OptionInfo check_option(double iterations) {
    return {"check", iterations, 0,   1e9, "iterations between measurements of the residual gap; 0: never",
            true,    {},         true};
}
/// Chosen by measurement (docs/bicgstab_family.md), as the other defaults of BiCGStab methods.
constexpr OptionInfo breakdown_option{
    "breakdown", 1e-12, 0, 1, "cosine below which r counts as orthogonal to r0, and s to t: then the run is given up"};
/// √ε: half of the digits that r could have in common with b − A x.
constexpr OptionInfo gap_option{"gap", 1.5e-8, 0, 1,
                                "the gap, relative to the residual, above which all is recomputed; 0: at every check"};

constexpr OptionInfo restart_option{"m", 30, 1, 1000, "columns of a cycle, then it restarts", true};
constexpr OptionInfo warmup_option{
    "warmup", 1000, 2, 1000, "columns of the first cycle, at most m, which is one of gmres and gives the shifts", true};
inline constexpr std::string_view sides[] = {"right", "left"};
constexpr OptionInfo side_option{"side", 0, 0, 1, "of A on which the preconditioner stands", false, sides};

inline constexpr std::string_view refuges[] = {"cg", "pipelined_cg"};
constexpr OptionInfo refuge_option{"refuge", 0, 0, 1, "what goes on when this method cannot", false, refuges};

/// All methods, in the order in which tables show them.
std::span<const Method* const> methods();

/// Throws InputError that lists the names there are.
const Method& find_method(std::string_view name);

/// The options of a specification that a method takes too: for one that goes on where another leaves off.
Options options_for(Spec spec, const Method& method);

/// A specification without the safeguards that act now and then, where it does not ask for them: the iterations are all
/// alike.
std::string without_safeguards(const std::string& spec);
std::string without_safeguards(const Method& method);

/// What one iteration costs, counted by running the method's own text on a small problem.
PerIteration iteration_cost(const Method& method, Formulation formulation, bool preconditioned);
/// The same with options: NAME:key=value,…
PerIteration iteration_cost(const std::string& spec, Formulation formulation, bool preconditioned);

}  // namespace stretto
