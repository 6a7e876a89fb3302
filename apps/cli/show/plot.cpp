// SPDX-License-Identifier: BSD-3-Clause
#include "plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "stretto/core/error.hpp"

using namespace stretto;

namespace {

constexpr const char* python = "python3 -c 'import matplotlib' 2>/dev/null";

bool succeeds(const char* command) { return std::system(command) == 0; }  // fixed commands, nothing of a user's

/// In double quotes gnuplot and Python read a string as JSON writes it.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// Values that a logarithmic axis can show.
bool shown(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

Plot::Plot(std::string path, Axes axes)
    : path_(std::move(path)), format_(std::filesystem::path(path_).extension()), axes_(std::move(axes)) {
    if (format_ != ".png" && format_ != ".svg")
        throw InputError(fmt::format("--plot {}: the name must end in .png or .svg", path_));
    format_.erase(0, 1);
    by_gnuplot_ = succeeds("command -v gnuplot >/dev/null");
    if (!by_gnuplot_ && !succeeds(python))
        throw InputError("--plot needs gnuplot, or Python with matplotlib; neither is there");
}

void Plot::add(const std::string& label, const Result& result) {
    const std::size_t columns = std::max<std::size_t>(1, result.columns.size());
    const auto curve = [&](const std::string& name, bool dashed, const std::vector<double>& history) {
        if (std::ranges::none_of(history, shown)) return;
        Curve& made = curves_.emplace_back(Curve{name, dashed, methods_, {}});
        for (std::size_t i = 0; i < history.size(); ++i) {
            const double norm = result.columns[i % columns].norm_b;
            const double value = history[i] / (norm > 0 ? norm : 1);
            if (i % columns == 0)
                made.points.emplace_back(made.points.size() + 1, value);
            else
                made.points.back().second = std::max(made.points.back().second, value);
        }
    };
    curve(label, false, result.history);
    curve(label + ", true", true, result.true_history);
    ++methods_;
}

void Plot::add(const std::string& label, std::vector<std::pair<double, double>> points, bool dashed) {
    curves_.push_back({label, dashed, methods_++, std::move(points)});
}

std::string Plot::gnuplot(const std::string& title) const {
    std::string script = fmt::format(
        "set terminal {} size 900,600\nset output {}\nset title {} noenhanced\nset key noenhanced outside bottom "
        "center horizontal\nset logscale {}\nset format y '{}'\nset grid\nset xlabel '{}'\nset ylabel '{}'\nplot ",
        format_ == "png" ? "pngcairo" : "svg", quoted(path_), quoted(title), axes_.logarithmic_x ? "xy 2" : "y",
        axes_.logarithmic_x ? "%g" : "%.0e", axes_.x, axes_.y);
    for (const auto& curve : curves_)
        script += fmt::format("{}'-' with lines linewidth 1.5 linecolor {} dashtype {} title {}",
                              &curve == curves_.data() ? "" : ", ", curve.color + 1, curve.dashed ? 2 : 1,
                              quoted(curve.label));
    for (const auto& curve : curves_) {
        script += "\n";
        for (const auto& [x, y] : curve.points) script += shown(y) ? fmt::format("{} {:.6e}\n", x, y) : "\n";
        script += "e";
    }
    return script + "\n";
}

std::string Plot::matplotlib(const std::string& title) const {
    std::string script = fmt::format(
        "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nfigure, axes = "
        "plt.subplots(figsize=(9, 6))\naxes.set(title={}, yscale='log', xscale='{}', xlabel='{}', "
        "ylabel='{}')\naxes.grid(True)\n",
        quoted(title), axes_.logarithmic_x ? "log" : "linear", axes_.x, axes_.y);
    for (const auto& curve : curves_) {
        script += "axes.plot([";
        for (const auto& [x, y] : curve.points)
            if (shown(y)) script += fmt::format("{},", x);
        script += "], [";
        for (const auto& [x, y] : curve.points)
            if (shown(y)) script += fmt::format("{:.6e},", y);
        script += fmt::format("], '{}', color='C{}', label={})\n", curve.dashed ? "--" : "-", curve.color,
                              quoted(curve.label));
    }
    return script + fmt::format("axes.legend()\nfigure.savefig({})\n", quoted(path_));
}

void Plot::write(const std::string& title) const {
    if (curves_.empty()) throw InputError(fmt::format("--plot {}: there is no residual to draw", path_));
    std::FILE* const pipe = popen(by_gnuplot_ ? "gnuplot" : "python3 -", "w");
    const std::string script = by_gnuplot_ ? gnuplot(title) : matplotlib(title);
    const bool written = pipe && std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
    if (!pipe || pclose(pipe) != 0 || !written) throw InputError("cannot draw " + path_);
}
