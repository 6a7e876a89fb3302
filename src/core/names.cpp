// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

namespace stretto {
namespace {

/// What other programs and papers call what is here.
constexpr std::pair<std::string_view, std::string_view> other_words[] = {
    // options of methods, preconditioners and hierarchical matrices
    {"restart", "m"},
    {"depth", "l"},
    {"eps", "epsilon"},
    {"droptol", "drop"},
    {"theta", "strong"},
    // options of the command line
    {"tol", "--rtol"},
    {"tolerance", "--rtol"},
    {"abstol", "--atol"},
    {"maxiter", "--max-it"},
    {"maxit", "--max-it"},
    {"max_iter", "--max-it"},
    {"max_iterations", "--max-it"},
    {"iterations", "--max-it"},
    {"x0", "--guess"},
    {"initial_guess", "--guess"},
    {"solver", "--method"},
    {"ksp_type", "--method"},
    {"pc", "--precond"},
    {"pc_type", "--precond"},
    {"preconditioner", "--precond"},
    {"nrhs", "--columns"},
    {"output", "--solution"},
    {"epsilon", "--hmatrix"},
    // methods
    {"pcg", "cg"},
    {"bicg", "bicgstab"},
    {"bcgs", "bicgstab"},
    {"cgs", "bicgstab"},
    {"pipecg", "pipelined_cg"},
    {"plcg", "deep_pipelined_cg"},
    {"pipebcgs", "pipelined_bicgstab"},
    {"ibcgs", "improved_bicgstab"},
    {"fcg", "flexible_cg"},
    {"fgmres", "gmres"},
    {"pgmres", "pipelined_gmres"},
    {"ca_gmres", "s_step_gmres"},
    // preconditioners
    {"diag", "jacobi"},
    {"diagonal", "jacobi"},
    {"bjacobi", "block_jacobi"},
    {"ilu", "block_jacobi:ilu0"},
    {"ilu0", "block_jacobi:ilu0"},
    {"ic", "block_jacobi:ic0"},
    {"icc", "block_jacobi:ic0"},
    {"ic0", "block_jacobi:ic0"},
    {"ilut", "block_jacobi:ilut"},
    {"sai", "block_jacobi:sai"},
    {"spai", "block_jacobi:sai"},
    {"lu", "block_jacobi:lu"},
    {"cholesky", "block_jacobi:cholesky"},
    {"asm", "additive_schwarz"},
    {"ras", "additive_schwarz"},
    {"schwarz", "additive_schwarz"},
    {"multigrid", "amg"},
    {"gamg", "amg"},
    {"hypre", "amg"},
    {"boomeramg", "amg"},
    {"identity", "none"},
    // problems
    {"laplace2d", "poisson2d"},
    {"laplace3d", "poisson3d"},
};

/// Small letters, digits and _; dashes before it do not count.
std::string plain(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '-' || c == '_' ? !result.empty() : std::isalnum(static_cast<unsigned char>(c)) != 0)
            result += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return result;
}

/// Letters to put in, leave out, change or swap with their neighbour (Damerau 1964; no letter twice).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
    std::iota(last.begin(), last.end(), 0);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        before = std::exchange(last, now);
    }
    return last[b.size()];
}

std::string_view head(std::string_view name) { return name.substr(0, name.find(':')); }

/// Options of the command line are meant by words without dashes, too: where a key is asked for.
bool is_there(std::string_view meaning, std::string_view name, std::span<const std::string_view> names) {
    return std::ranges::find(names, head(meaning)) != names.end() || (meaning.starts_with("--") && name[0] != '-');
}

}  // namespace

std::string meant(std::string_view name, std::span<const std::string_view> names) {
    const std::string word = plain(name);
    if (word.empty()) return "";
    for (const auto& [other, meaning] : other_words)
        if (word == other && is_there(meaning, name, names)) return std::string(meaning);
    std::vector<std::string_view> nearest;
    if (word.size() > 2)  // the beginning of some
        std::ranges::copy_if(names, std::back_inserter(nearest),
                             [&](std::string_view each) { return plain(each).starts_with(word); });
    const bool begins = !nearest.empty();
    std::size_t least = std::max<std::size_t>(1, word.size() / 3);
    for (const auto& each : names) {
        if (begins) break;
        const std::string of = plain(each);
        const std::size_t letters = distance(word, of);
        if (letters > least || letters >= std::min(word.size(), of.size())) continue;
        if (letters < least) nearest.clear();
        least = letters;
        nearest.push_back(each);
    }
    constexpr std::size_t most = 4;
    if (nearest.empty() || nearest.size() > most) return "";
    const std::span all(nearest);
    if (all.size() == 1) return std::string(all[0]);
    const auto others = all.first(all.size() - 1);
    return fmt::format("{} or {}", fmt::join(others.begin(), others.end(), ", "), all.back());
}

std::string refusal(std::string_view complaint, std::string_view name, std::span<const std::string_view> names,
                    std::string_view list) {
    const std::string near = meant(name, names), all = fmt::format("{}", fmt::join(names.begin(), names.end(), ", "));
    if (near.empty()) return fmt::format("{}; {}: {}", complaint, list, all);
    return fmt::format("{}: did you mean {}? {}{}: {}", complaint, near,
                       static_cast<char>(std::toupper(static_cast<unsigned char>(list[0]))), list.substr(1), all);
}

}  // namespace stretto
