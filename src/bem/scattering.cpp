// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/bem/scattering.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "sines.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/bem/single_layer.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "triangle_rule.hpp"

namespace stretto {
namespace {

using Complex = std::complex<double>;
using std::numbers::pi;

/// n nodes and weights of Gauss and Legendre on [−1, 1].
std::vector<std::pair<double, double>> gauss_rule(int n) {
    std::vector<std::pair<double, double>> rule;
    for (int i = 0; i < n; ++i) {
        double x = std::cos(pi * (i + 0.75) / (n + 0.5)), derivative = 1;
        for (int step = 0; step < 100; ++step) {
            const double P = std::legendre(static_cast<unsigned>(n), x),
                         before = std::legendre(static_cast<unsigned>(n - 1), x);
            derivative = n * (before - x * P) / (1 - x * x);
            const double change = P / derivative;
            x -= change;
            if (std::abs(change) < 1e-15) break;
        }
        rule.emplace_back(x, 2 / ((1 - x * x) * derivative * derivative));
    }
    return rule;
}

/// Collective.
void check_interrupt(const Comm& comm, const std::atomic<bool>* interrupt) {
    if (any_of(comm, interrupt && *interrupt)) throw InputError("interrupted before the wave was known everywhere");
}

/// Two directions that are orthogonal to one and to each other.
std::pair<Point, Point> across(const Point& direction) {
    const Point other = std::abs(direction[1]) < 0.9 ? Point{0, 1, 0} : Point{1, 0, 0};
    const Point u = cross(other, direction), unit = (1 / norm(u)) * u;
    return {unit, cross(direction, unit)};
}

}  // namespace

/// A triangle and the points of its rule, which fill the lanes of a processor.
struct Scattering::Element {
    std::array<Point, 3> corners;
    Point centroid, normal;
    double size = 0;
    alignas(64) double x[8], y[8], z[8], w[8];

    /// What a unit density makes at p, times 4π; `on_it`: p is on the triangle itself.
    Complex potential(double k, double coupling, Layer layer, const Point& p, bool on_it) const;
};

Complex Scattering::Element::potential(double k, double coupling, Layer layer, const Point& p, bool on_it) const {
    const Point d = centroid - p;
    const double height = on_it ? 0 : dot(d, normal);
    const bool near = dot(d, d) < far_from_triangle * far_from_triangle * size * size;
    // Near the triangle what is left of the kernels without their static parts 1/r and −height/r³.
    const double waves = near ? 0 : 1, least = 1e-20 * size * size;
    double inverse[8], phase[8], half[8], s[8], c[8];
#pragma omp simd
    for (int q = 0; q < 8; ++q) {
        const double u = p[0] - x[q], v = p[1] - y[q], t = p[2] - z[q], square = std::max(u * u + v * v + t * t, least);
        inverse[q] = 1 / std::sqrt(square);
        phase[q] = k * square * inverse[q];
        half[q] = phase[q] / 2;
    }
    sines_and_cosines(half, s, c);
    double single_re = 0, single_im = 0, double_re = 0, double_im = 0;
#pragma omp simd reduction(+ : single_re, single_im, double_re, double_im)
    for (int q = 0; q < 8; ++q) {
        // cos − 1, or cos: where r is small, 1 − cos would have few digits.
        const double cosine = waves - 2 * s[q] * s[q], sine = 2 * s[q] * c[q];
        const double single = w[q] * inverse[q], twice = single * inverse[q] * inverse[q];
        single_re += single * cosine;
        single_im += single * sine;
        // (ikr − 1) exp(ikr), over r³.
        double_re -= twice * (cosine + phase[q] * sine);
        double_im += twice * (phase[q] * (1 - 2 * s[q] * s[q]) - sine);
    }
    if (near) single_re += triangle_potential(p, corners);
    if (layer == Layer::single) return {single_re, single_im};
    Complex sum = height * Complex(double_re, double_im) + coupling * Complex(single_im, -single_re);
    if (near && height != 0) sum -= solid_angle(p, corners);
    return sum;
}

Scattering::Scattering(const TriangleMesh& mesh, double wave_number, Layer layer, const Point& direction)
    : mesh_(&mesh), wave_number_(wave_number), coupling_(wave_number), layer_(layer), direction_(direction) {
    if (!(wave_number > 0 && std::isfinite(wave_number)))
        throw InputError(fmt::format("wave number {}: a number above 0 is wanted", wave_number));
    const double side = longest_side();
    if (side > 1)
        throw InputError(
            fmt::format("wave number {}: the longest side of a triangle is {:.3g} wave lengths; a quarter is needed, "
                        "by more triangles "
                        "or a smaller wave number",
                        wave_number, side));
    double most = 0;
    for (const double x : direction) most = std::max(most, std::abs(x));
    if (!(most > 0 && std::isfinite(most)))
        throw InputError(
            fmt::format("the direction ({}, {}, {}) of the wave is none: three numbers are wanted, not all 0",
                        direction[0], direction[1], direction[2]));
    direction_ = (1 / most) * direction;  // whatever its length
    direction_ = (1 / norm(direction_)) * direction_;
    Box box;
    for (const Point& p : mesh.vertices) box.add(p);
    coupling_ = std::max(wave_number, 2 / box.diameter());
    std::vector<Element> all(static_cast<std::size_t>(mesh.size()));
    for (Index i = 0; i < mesh.size(); ++i) {
        auto& t = all[static_cast<std::size_t>(i)];
        t.corners = mesh.corners(i);
        t.centroid = mesh.centroid(i);
        const Point n = cross(t.corners[1] - t.corners[0], t.corners[2] - t.corners[0]);
        t.normal = (1 / norm(n)) * n;
        for (const Point& corner : t.corners) t.size = std::max(t.size, norm(corner - t.centroid));
        for (int q = 0; q < 8; ++q) {  // the rule has seven points: one of no weight
            const Point p = q < 7 ? rule_point(t.corners, triangle_rule[q]) : t.centroid;
            t.x[q] = p[0];
            t.y[q] = p[1];
            t.z[q] = p[2];
            t.w[q] = q < 7 ? norm(n) / 2 * triangle_rule[q].weight : 0;
        }
    }
    elements_ = std::make_shared<const std::vector<Element>>(std::move(all));
}

ComplexFill Scattering::matrix() const {
    return entries([elements = elements_, k = wave_number_, coupling = coupling_, layer = layer_](Index i, Index j) {
        const Element &at = (*elements)[static_cast<std::size_t>(i)], &of = (*elements)[static_cast<std::size_t>(j)];
        const Complex value = of.potential(k, coupling, layer, at.centroid, i == j) / (4 * pi);
        return i == j && layer == Layer::combined ? value + 0.5 : value;
    });
}

std::vector<Complex> Scattering::right_hand_side() const {
    std::vector<Complex> b;
    for (Index i = 0; i < mesh_->size(); ++i) b.push_back(-incident(mesh_->centroid(i)));
    return b;
}

Complex Scattering::incident(const Point& p) const { return std::polar(1.0, wave_number_ * dot(direction_, p)); }

Complex Scattering::scattered(std::span<const Complex> density, const Point& p) const {
    Complex sum = 0;
    for (std::size_t j = 0; j < density.size(); ++j)
        sum += density[j] * (*elements_)[j].potential(wave_number_, coupling_, layer_, p, false);
    return sum / (4 * pi);
}

Complex Scattering::far_field(std::span<const Complex> density, const Point& towards) const {
    const double k = wave_number_;
    Complex sum = 0;
    for (std::size_t j = 0; j < density.size(); ++j) {
        const Element& t = (*elements_)[j];
        double phase[8], sine[8], cosine[8], real = 0, imaginary = 0;
#pragma omp simd
        for (int q = 0; q < 8; ++q) phase[q] = -k * (towards[0] * t.x[q] + towards[1] * t.y[q] + towards[2] * t.z[q]);
        sines_and_cosines(phase, sine, cosine);
#pragma omp simd reduction(+ : real, imaginary)
        for (int q = 0; q < 8; ++q) {
            real += t.w[q] * cosine[q];
            imaginary += t.w[q] * sine[q];
        }
        const Complex by = layer_ == Layer::single ? Complex(1) : Complex(0, -k * dot(towards, t.normal) - coupling_);
        sum += density[j] * by * Complex(real, imaginary);
    }
    return sum / (4 * pi);
}

double Scattering::longest_side() const {
    double most = 0;
    for (Index i = 0; i < mesh_->size(); ++i) {
        const auto [a, b, c] = mesh_->corners(i);
        most = std::max({most, norm(b - a), norm(c - b), norm(a - c)});
    }
    return most * wave_number_ / (2 * pi);
}

Complex sphere_far_field(double radius, double wave_number, double cosine) {
    const double ka = wave_number * radius;
    Complex sum = 0;
    for (unsigned l = 0;; ++l) {
        const double j = std::sph_bessel(l, ka), y = std::sph_neumann(l, ka);
        const double size = (2.0 * l + 1) * std::abs(j) / std::hypot(j, y);
        if (l > ka && !(size > 1e-17 * std::abs(sum))) break;  // y has no bounds
        sum += (2.0 * l + 1) * j / Complex(j, y) * std::legendre(l, cosine);
    }
    return Complex(0, 1 / wave_number) * sum;
}

std::string to_vtu(const Scattering& scattering, std::span<const Complex> density) {
    CellData parts[] = {{"real part", {}}, {"imaginary part", {}}, {"size", {}}};
    for (const auto& value : density) {
        parts[0].values.push_back(value.real());
        parts[1].values.push_back(value.imag());
        parts[2].values.push_back(std::abs(value));
    }
    return to_vtu(scattering.mesh(), parts);
}

FarField far_field(const Comm& comm, const Scattering& scattering, std::span<const Complex> density, double radius,
                   const std::atomic<bool>* interrupt) {
    // The far field of a body within a ball of radius a has about ka + 10 harmonics: the rule sums their squares.
    Box box;
    for (const Point& p : scattering.mesh().vertices) box.add(p);
    const double k = scattering.wave_number();
    const int n = static_cast<int>(std::ceil(k * box.diameter() / 2)) + 11;
    const auto [u, v] = across(scattering.direction());
    double squares = 0, error = 0, of_sphere = 0;
    int number = 0;
    for (const auto& [cosine, weight] : gauss_rule(n))
        for (int turn = 0; turn < 2 * n; ++turn, ++number) {
            if (number % comm.size() != comm.rank() || (interrupt && *interrupt)) continue;
            const double angle = pi * turn / n, sine = std::sqrt(1 - cosine * cosine), by = weight * pi / n;
            const Point towards = cosine * scattering.direction() + sine * (std::cos(angle) * u + std::sin(angle) * v);
            const Complex found = scattering.far_field(density, towards);
            squares += by * std::norm(found);
            if (radius == 0) continue;
            const Complex truth = sphere_far_field(radius, k, cosine);
            error += by * std::norm(found - truth);
            of_sphere += by * std::norm(truth);
        }
    check_interrupt(comm, interrupt);
    FarField result;
    result.forward = scattering.far_field(density, scattering.direction());
    result.backward = scattering.far_field(density, -1.0 * scattering.direction());
    result.cross_section = all_sum(comm, squares);
    result.extinction = 4 * pi / k * result.forward.imag();
    if (radius > 0) result.sphere_error = std::sqrt(all_sum(comm, error) / all_sum(comm, of_sphere));
    return result;
}

std::string wave_picture(Comm& comm, const Scattering& scattering, std::span<const Complex> density,
                         const std::atomic<bool>* interrupt) {
    constexpr int cells = 100;
    const auto [side, unused] = across(scattering.direction());
    const Point& along = scattering.direction();
    Box box;
    for (const Point& p : scattering.mesh().vertices) box.add(p);
    const Point middle = 0.5 * (box.low + box.high);
    const double half = 1.25 * box.diameter() / 2 + pi / scattering.wave_number(), step = 2 * half / cells;
    const auto& mesh = scattering.mesh();
    // From a cell inside of the body its surface is seen all around: a solid angle of 4π, else 0.
    std::vector<double> values(static_cast<std::size_t>(cells) * cells, 0.0);
    const auto place = [&](int cell) { return (cell + 0.5) * step - half; };
    for (int k = comm.rank(); k < cells * cells; k += comm.size()) {
        if (interrupt && *interrupt) break;
        const int row = k / cells, column = k % cells;
        const Point p = middle + place(column) * along + place(row) * side;
        double seen = 0;
        for (Index i = 0; i < mesh.size(); ++i) seen += solid_angle(p, mesh.corners(i));
        auto& value = values[static_cast<std::size_t>(k)];
        value = std::abs(seen) > 2 * pi ? 1e9 : (scattering.incident(p) + scattering.scattered(density, p)).real();
    }
    check_interrupt(comm, interrupt);
    std::vector<double> all(values.size());
    comm.start_sum(values, all).wait();
    if (comm.rank() != 0) return {};
    constexpr double most = 2;  // of a wave of size 1 and what comes back from a wall
    constexpr int pixels = 6;
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        cells * pixels + 40, cells * pixels + 70);
    for (int row = 0; row < cells; ++row)
        for (int column = 0; column < cells; ++column) {
            const double value =
                all[static_cast<std::size_t>(cells - 1 - row) * cells + static_cast<std::size_t>(column)];
            const double share = std::clamp(value / most, -1.0, 1.0);
            const int pale = static_cast<int>(std::lround(235 * (1 - std::abs(share))));
            const auto colour = value > 1e8 ? std::string("#555555")
                                : share > 0 ? fmt::format("#eb{0:02x}{0:02x}", pale)
                                            : fmt::format("#{0:02x}{0:02x}eb", pale);
            text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                                20 + column * pixels, 20 + row * pixels, pixels + 0.5, pixels + 0.5, colour);
        }
    return text +
           fmt::format(
               "<text x=\"20\" y=\"{}\" font-family=\"sans-serif\" font-size=\"16\">Re u of the whole wave, from "
               "the left: blue −{}, red +{}</text>\n</svg>\n",
               cells * pixels + 50, most, most);
}

}  // namespace stretto
