// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstring>
#include <map>

#include "stretto/bem/mesh.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/text.hpp"

namespace stretto {
namespace {

/// Words of a text, line by line. Everything from # on is a comment.
class Lines {
public:
    Lines(std::string_view name, std::string_view text) : name_(name), text_(without_byte_order_mark(text)) {}

    /// The words of the next line that has some; none: the text ends. A line that ends in a backslash goes on in the
    /// next.
    const std::vector<std::string_view>& next() {
        words_.clear();
        for (bool open = false; (open || words_.empty()) && !text_.empty();) {
            ++line_;
            const auto end = text_.find('\n');
            auto rest = text_.substr(0, end);
            text_ = end == text_.npos ? std::string_view() : text_.substr(end + 1);
            rest = rest.substr(0, rest.find('#'));
            for (;;) {
                const auto begin = rest.find_first_not_of(" \t\r\v\f");
                if (begin == rest.npos) break;
                rest = rest.substr(begin);
                const auto length = std::min(rest.find_first_of(" \t\r\v\f"), rest.size());
                words_.push_back(rest.substr(0, length));
                rest = rest.substr(length);
            }
            open = !words_.empty() && words_.back().ends_with('\\');
            if (!open) continue;
            words_.back().remove_suffix(1);
            if (words_.back().empty()) words_.pop_back();
        }
        return words_;
    }
    template <class T>
    T number(std::size_t word) const {
        T value{};
        if (word >= words_.size()) fail("numbers are missing");
        if (!parse_number(words_[word], value)) fail(fmt::format("'{}' is not a number", words_[word]));
        return value;
    }
    Point point(std::size_t first) const {
        return {number<double>(first), number<double>(first + 1), number<double>(first + 2)};
    }
    [[noreturn]] void fail(std::string_view why) const {
        throw InputError(fmt::format("{}, line {}: {}", name_, line_, why));
    }

private:
    std::string_view name_, text_;
    std::vector<std::string_view> words_;
    std::size_t line_ = 0;
};

Point normal(const Point& a, const Point& b, const Point& c) {
    const Point u{b[0] - a[0], b[1] - a[1], b[2] - a[2]}, v{c[0] - a[0], c[1] - a[1], c[2] - a[2]};
    return {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
}

/// Cuts from the first corner from which all triangles face the way of the whole: a fold would cover some of it twice.
void add_polygon(TriangleMesh& mesh, const std::vector<Index>& corners, const Lines& lines) {
    const std::size_t count = corners.size();
    const auto vertices = static_cast<Index>(mesh.vertices.size());
    for (const Index v : corners)
        if (v < 0 || v >= vertices) lines.fail(fmt::format("there is no vertex {} of {}", v, vertices));
    const auto triangle = [&](std::size_t from, std::size_t k) {
        return std::array<Index, 3>{corners[from], corners[(from + k - 1) % count], corners[(from + k) % count]};
    };
    const auto normal_of = [&](const std::array<Index, 3>& t) {
        const auto at = [&](int k) { return mesh.vertices[static_cast<std::size_t>(t[static_cast<std::size_t>(k)])]; };
        return normal(at(0), at(1), at(2));
    };
    Point whole{};
    for (std::size_t k = 2; k < count; ++k) {
        const Point n = normal_of(triangle(0, k));
        for (std::size_t d = 0; d < 3; ++d) whole[d] += n[d];
    }
    for (std::size_t from = 0; from < count; ++from) {
        bool good = true;
        for (std::size_t k = 2; k < count && good; ++k) {
            const Point n = normal_of(triangle(from, k));
            good = count == 3 || n[0] * whole[0] + n[1] * whole[1] + n[2] * whole[2] > 0;
        }
        if (!good) continue;
        for (std::size_t k = 2; k < count; ++k) mesh.triangles.push_back(triangle(from, k));
        return;
    }
    const Point& p = mesh.vertices[static_cast<std::size_t>(corners[0])];
    lines.fail(
        fmt::format("the face that begins at ({:.9g}, {:.9g}, {:.9g}) cannot be cut into triangles from one of its "
                    "corners: cut it before",
                    p[0], p[1], p[2]));
}

TriangleMesh parse_off(std::string_view name, std::string_view text) {
    Lines lines(name, text);
    const auto first = lines.next();
    if (first.empty() || first[0] != "OFF") lines.fail("an OFF file begins with OFF");
    const bool same_line = first.size() > 1;
    if (!same_line) lines.next();
    const auto vertices = lines.number<Index>(same_line ? 1 : 0), faces = lines.number<Index>(same_line ? 2 : 1);
    TriangleMesh mesh;
    for (Index v = 0; v < vertices; ++v) {
        if (lines.next().empty()) lines.fail(fmt::format("the text ends after {} of {} vertices", v, vertices));
        mesh.vertices.push_back(lines.point(0));
    }
    for (Index f = 0; f < faces; ++f) {
        if (lines.next().empty()) lines.fail(fmt::format("the text ends after {} of {} faces", f, faces));
        const auto corners = lines.number<Index>(0);
        if (corners < 3) lines.fail("a face has at least three corners");
        std::vector<Index> polygon;
        for (Index k = 1; k <= corners; ++k) polygon.push_back(lines.number<Index>(static_cast<std::size_t>(k)));
        add_polygon(mesh, polygon, lines);
    }
    return mesh;
}

TriangleMesh parse_obj(std::string_view name, std::string_view text) {
    Lines lines(name, text);
    TriangleMesh mesh;
    for (;;) {
        const auto& words = lines.next();
        if (words.empty()) return mesh;
        if (words[0] == "v") mesh.vertices.push_back(lines.point(1));
        if (words[0] != "f") continue;
        if (words.size() < 4) lines.fail("a face has at least three corners");
        std::vector<Index> polygon;
        for (std::size_t k = 1; k < words.size(); ++k) {
            const auto word = words[k].substr(0, words[k].find('/'));  // vertex/texture/normal
            Index v = 0;
            if (!parse_number(word, v) || v == 0 || v == std::numeric_limits<Index>::min())
                lines.fail(fmt::format("'{}' is not the number of a vertex", words[k]));
            polygon.push_back(v > 0 ? v - 1 : static_cast<Index>(mesh.vertices.size()) + v);
        }
        add_polygon(mesh, polygon, lines);
    }
}

/// Corners come without numbers: those that are equal are one.
class Corners {
public:
    explicit Corners(TriangleMesh& mesh) : mesh_(mesh) {}
    void add(const Point& p) {
        const auto [found, fresh] = numbers_.try_emplace(p, static_cast<Index>(mesh_.vertices.size()));
        if (fresh) mesh_.vertices.push_back(p);
        triangle_[corner_++] = found->second;
        if (corner_ < 3) return;
        mesh_.triangles.push_back(triangle_);
        corner_ = 0;
    }
    bool whole() const { return corner_ == 0; }

private:
    TriangleMesh& mesh_;
    std::map<Point, Index> numbers_;
    std::array<Index, 3> triangle_{};
    std::size_t corner_ = 0;
};

TriangleMesh parse_stl(std::string_view name, std::string_view text) {
    TriangleMesh mesh;
    Corners corners(mesh);
    constexpr std::size_t header = 84, each = 50;
    std::uint32_t count = 0;
    if (text.size() >= header) std::memcpy(&count, text.data() + 80, 4);
    // Some binary files begin with "solid" too; their size tells.
    const bool binary = text.size() >= header && text.size() == header + each * static_cast<std::size_t>(count);
    if (binary) {
        for (std::size_t at = header; at < text.size(); at += each)
            for (std::size_t k = 1; k < 4; ++k) {  // after the normal
                float p[3];
                std::memcpy(p, text.data() + at + 12 * k, sizeof p);
                for (const float value : p)
                    if (!std::isfinite(value))
                        throw InputError(fmt::format("{}: a coordinate of triangle {} is not finite", name,
                                                     (at - header) / each + 1));
                corners.add({p[0], p[1], p[2]});
            }
        return mesh;
    }
    Lines lines(name, text);
    const auto first = lines.next();
    if (first.empty() || first[0] != "solid" || text.find('\0') != text.npos) {
        if (text.size() < header)
            throw InputError(
                fmt::format("{}: neither a text STL file, which begins with solid, nor a binary one, which "
                            "has {} bytes or more",
                            name, header));
        throw InputError(
            fmt::format("{}: a binary STL file of {} triangles, as its header tells, has {} bytes; this one "
                        "has {}",
                        name, count, header + each * static_cast<std::size_t>(count), text.size()));
    }
    for (bool ended = false;;) {
        const auto& words = lines.next();
        if (words.empty()) {
            if (!ended) lines.fail("the text ends before endsolid");
            return mesh;
        }
        if (words[0] == "vertex") {
            const Point p = lines.point(1);
            for (const double value : p)
                if (!std::isfinite(value)) lines.fail("a coordinate is not finite");
            corners.add(p);
        }
        if (words[0] == "endloop" && !corners.whole()) lines.fail("a facet has three vertices");
        ended = words[0] == "endsolid" || (ended && words[0] != "facet");
    }
}

}  // namespace

TriangleMesh parse_mesh(std::string_view name, std::string_view text) {
    const auto ends = [&](std::string_view ending) {
        if (name.size() < ending.size()) return false;
        return std::ranges::equal(name.substr(name.size() - ending.size()), ending,
                                  [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
    };
    if (ends(".stl")) return parse_stl(name, text);
    if (ends(".off")) return parse_off(name, text);
    if (ends(".obj")) return parse_obj(name, text);
    throw InputError(fmt::format("{}: the name of a mesh ends in .stl, .off or .obj", name));
}

}  // namespace stretto
