// SPDX-License-Identifier: BSD-3-Clause
// Algebraic multigrid: the levels of hypre's BoomerAMG in a V-cycle of our own (multigrid.hpp), or its own cycle.
// Where hypre is not built in, amg_missing.cpp takes the place of this file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../../sparse/points.hpp"
#include "../kinds.hpp"
#include "boomer_amg.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

constexpr std::string_view singular = "amg: the coarsest level is singular, and solved without what it takes to zero";

/// BoomerAMG's levels in our cycle.
class Amg final : public Preconditioner {
public:
    Amg(const CsrMatrix<double>& A, std::unique_ptr<BoomerAmg> levels, const Options& options)
        : A_(&A),
          update_(options.choice("update")),
          cycle_(A, levels->coarse_levels(),
                 {.degree = static_cast<int>(options.number("degree")),
                  .ratio = options.number("ratio"),
                  .coarsest = static_cast<Global>(options.number("coarsest")),
                  .single = options.choice("precision") == "single"}),
          sizes_(*levels->level_sizes()),
          remarks_(levels->remarks()) {
        const bool kept = update_ == "products";
        remarks_.push_back(levels->complexities(all_sum(A.comm(), cycle_.stored() + (kept ? levels->stored() : 0))));
        if (cycle_.is_singular()) remarks_.emplace_back(singular);
        if (kept) levels_ = std::move(levels);
    }

    void apply(MultiVector<double> r, MultiVector<double> z) const override { cycle_.apply(r, z); }
    void apply_transpose(MultiVector<double>, MultiVector<double>) const override {
        throw InputError("amg has no transpose");
    }
    bool has_transpose() const override { return false; }
    double bytes(int columns) const override { return cycle_.bytes(columns); }
    int reductions() const override { return cycle_.reductions(); }
    double stored() const override { return cycle_.stored() + (levels_ ? levels_->stored() : 0); }
    std::vector<std::string> remarks() const override { return remarks_; }
    std::optional<LevelSizes> level_sizes() const override { return sizes_; }
    ExplicitInverse explicit_inverse() const override { return MultigridInverse{&cycle_}; }

    /// Levels that lag behind are made anew once a solve applied them half as often more than with the values that
    /// they were made for, in the mean of the solves between two updates.
    bool update(int solves) override {
        constexpr double borne = 1.5;
        const int spent = cycle_.applications() - std::exchange(counted_, cycle_.applications());
        const double of_a_solve = solves > 0 ? static_cast<double>(spent) / solves : 0;
        if (update_ == "anew") return false;
        if (update_ == "products") {
            auto coarser = levels_->products(*A_);
            try {
                cycle_.update(std::move(coarser));
            } catch (const InputError&) {  // sums that were zero are not now, or the other way round: on every rank
                return false;
            }
            return true;
        }
        if (update_ == "lagged" && usual_ > 0 && of_a_solve > borne * usual_) return false;
        if (usual_ == 0) usual_ = of_a_solve;
        cycle_.update({});
        return true;
    }

private:
    const CsrMatrix<double>* A_;
    std::string_view update_;
    std::unique_ptr<BoomerAmg> levels_;  // where they will be asked again
    Multigrid cycle_;
    LevelSizes sizes_;
    std::vector<std::string> remarks_;
    int counted_ = 1;   // applications with earlier values, and that of is_finite
    double usual_ = 0;  // of a solve with the values that the levels were made for; 0: not known yet
};

/// Collective. Whether a cycle leaves ones finite.
bool is_finite(const CsrMatrix<double>& A, const Preconditioner& M) {
    const auto n = static_cast<std::size_t>(A.local_rows());
    std::vector<double> r(n, 1.0), z(n);
    M.apply({r.data(), A.local_rows(), 1}, {z.data(), A.local_rows(), 1});
    return all_of(A.comm(), std::ranges::all_of(z, [](double value) { return std::isfinite(value); }));
}

/// PMIS leaves more iterations than HMIS, in the plane half as many more; in space it pays for them in the set-up.
bool takes_pmis(const CsrMatrix<double>& A, std::string_view coarsen) {
    constexpr double of_the_plane = 6;  // nonzeros of a row
    const bool space = static_cast<double>(A.nonzeros()) > of_the_plane * static_cast<double>(A.rows());
    return coarsen == "pmis" || (coarsen == "auto" && space);
}

}  // namespace

/// The first cycle that is finite is taken: Falgout's coarsening is for matrices far from those that multigrid is made
/// for.
std::unique_ptr<Preconditioner> make_amg(const CsrMatrix<double>& A, const Options& options) {
    const bool own = options.choice("cycle") == "hypre";
    const auto whole = [&](std::string_view name) { return static_cast<int>(options.number(name)); };
    constexpr Global few = 100;
    const bool told = options.number("functions") > 0;
    const int functions = told ? whole("functions") : unknowns_at_a_point(A);
    if (A.rows() % functions != 0)
        throw InputError(
            fmt::format("amg:functions={}: {} rows are not {} for each of some points; leave it out, and "
                        "the pattern tells",
                        functions, A.rows(), functions));
    BoomerAmgOptions usual{.coarsen = takes_pmis(A, options.choice("coarsen")) ? BoomerAmg::pmis : BoomerAmg::hmis,
                           .interpolate = BoomerAmg::extended_i,
                           .most_per_row = whole("per_row"),
                           // In few rows hypre's multipass interpolation writes behind its arrays.
                           .aggressive = A.rows() > few ? whole("aggressive") : 0,
                           .functions = functions,
                           .strong = options.number("strong")};
    if (own) {
        usual.relax = BoomerAmg::symmetric_l1_gauss_seidel;
        usual.sweeps = whole("sweeps");
    } else {
        usual.most_coarsest = static_cast<Global>(options.number("coarsest"));
    }
    BoomerAmgOptions careful = usual;
    careful.coarsen = BoomerAmg::falgout;
    careful.interpolate = BoomerAmg::classical;
    careful.most_per_row = 0;
    careful.aggressive = 0;
    careful.coarse_first = 1;
    if (own) careful.relax = BoomerAmg::symmetric_gauss_seidel;
    const auto make = [&](const BoomerAmgOptions& chosen, std::string_view remark) -> std::unique_ptr<Preconditioner> {
        auto levels = std::make_unique<BoomerAmg>(A, chosen);
        if (!remark.empty()) levels->add_remark(remark);
        if (!told && functions > 1)
            levels->add_remark(
                fmt::format("amg: {} unknowns at each point, as the pattern tells (functions)", functions));
        if (own) {
            levels->add_remark(levels->complexities(all_sum(A.comm(), levels->stored())));
            return levels;
        }
        return std::make_unique<Amg>(A, std::move(levels), options);
    };
    auto M = make(usual, "");
    if (is_finite(A, *M)) return M;
    M = nullptr;  // never two at a time
    return make(careful,
                "amg: the usual levels gave NaN or Inf, these have Falgout's coarsening and classical interpolation");
}

bool amg_is_built() { return true; }

}  // namespace stretto
