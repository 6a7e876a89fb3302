// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/text.hpp"

namespace stretto {
namespace {

constexpr std::string_view smoothness[] = {"1/2", "3/2", "5/2"};
constexpr OptionInfo length_option{"length", 0.2, 1e-100, 1e100, "correlation length"};
constexpr OptionInfo nugget_option{"nugget", 1e-2, 0, 1e100, "added to the diagonal: the variance of noise"};
constexpr OptionInfo gaussian_options[] = {length_option, nugget_option};
constexpr OptionInfo matern_options[] = {
    length_option, {"nu", 1, 0, 2, "smoothness (1/2: exponential)", true, smoothness}, nugget_option};
constexpr OptionInfo helmholtz_options[] = {
    {"k", 10, 0, 1e100, "wave number"},
    {"diagonal", 0, -1e100, 1e100,
     "entries of the diagonal; 0: the mean sum of the others' sizes in a row; much less is hard to solve"}};

/// The kernel as a function of the distance, and what stands on the diagonal.
template <class Radial>
Fill radial(const std::vector<Point>& points, double diagonal, Radial f) {
    return of_distance(
        points, [f](Index, Index, double square) { return f(std::sqrt(square)); },
        [diagonal](Index) { return diagonal; });
}

/// Σ f(r) over the other points, the mean of some rows; 1 where there are no others.
template <class Radial>
double mean_sum_of_row(const std::vector<Point>& points, Radial f) {
    constexpr std::uint64_t rows = 64;
    double sum = 0;
    for (std::uint64_t k = 0; k < rows; ++k) {
        const Point& p = points[splitmix64(k) % points.size()];
        for (const Point& q : points)
            if (const double r = norm(p - q); r > 0) sum += f(r) / rows;
    }
    return sum > 0 ? sum : 1;
}

}  // namespace

std::span<const KernelKind> kernel_kinds() {
    static constexpr KernelKind kinds[] = {
        {"gaussian", "exp(−r²/(2 length²)), a covariance", true, gaussian_options},
        {"matern", "Matérn's covariance", true, matern_options},
        {"helmholtz", "cos(k r)/r", false, helmholtz_options},
    };
    return kinds;
}

Fill make_kernel(const std::string& text, const std::vector<Point>& points) {
    const Spec spec = parse_spec(text);
    const auto kind = std::ranges::find(kernel_kinds(), spec.name, &KernelKind::name);
    if (kind == kernel_kinds().end())
        throw InputError(refusal(fmt::format("there is no kernel '{}'", spec.name), spec.name,
                                 names_of(kernel_kinds(), &KernelKind::name)));
    const Options options(spec, kind->options);
    if (spec.name == "helmholtz") {
        const double k = options.number("k");
        double diagonal = options.number("diagonal");
        if (diagonal == 0) diagonal = mean_sum_of_row(points, [k](double r) { return std::abs(std::cos(k * r)) / r; });
        return radial(points, diagonal, [k](double r) { return std::cos(k * r) / r; });
    }
    const double length = options.number("length"), diagonal = 1 + options.number("nugget");
    if (spec.name == "gaussian")
        return radial(points, diagonal, [s = -0.5 / (length * length)](double r) { return std::exp(s * r * r); });
    switch (static_cast<int>(options.number("nu"))) {
        case 0: return radial(points, diagonal, [length](double r) { return std::exp(-r / length); });
        case 1:
            return radial(points, diagonal,
                          [s = std::sqrt(3.0) / length](double r) { return (1 + s * r) * std::exp(-s * r); });
        default:
            return radial(points, diagonal, [s = std::sqrt(5.0) / length](double r) {
                return (1 + s * r + s * s * r * r / 3) * std::exp(-s * r);
            });
    }
}

std::vector<Point> parse_points(std::string_view name, std::string_view text) {
    std::vector<Point> points;
    int columns = 0;
    text = without_byte_order_mark(text);
    for (std::size_t line = 1; !text.empty(); ++line) {
        const auto end = text.find('\n');
        auto rest = text.substr(0, end);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        rest = rest.substr(0, rest.find('#'));
        const auto fail = [&](std::string_view why) {
            throw InputError(fmt::format("{}, line {}: {}", name, line, why));
        };
        Point p{};
        int count = 0;
        for (;;) {
            const auto begin = rest.find_first_not_of(" \t\r,;");
            if (begin == rest.npos) break;
            rest = rest.substr(begin);
            const auto word = rest.substr(0, rest.find_first_of(" \t\r,;"));
            rest = rest.substr(word.size());
            if (count == 3) fail("more than three numbers");
            double& value = p[static_cast<std::size_t>(count++)];
            if (!parse_number(word, value) || !std::isfinite(value))
                fail(fmt::format("'{}' is not a finite number", word));
        }
        if (count == 0) continue;
        if (columns == 0) columns = count;
        if (count != columns) fail(fmt::format("{} numbers, but {} in the lines before", count, columns));
        points.push_back(p);
    }
    if (points.empty()) throw InputError(fmt::format("{}: there are no points", name));
    return points;
}

}  // namespace stretto
