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

Picture::Picture(std::string path, const std::string& option)
    : path_(std::move(path)), format_(std::filesystem::path(path_).extension()) {
    if (format_ != ".png" && format_ != ".svg")
        throw InputError(fmt::format("{} {}: the name must end in .png or .svg", option, path_));
    format_.erase(0, 1);
    by_gnuplot_ = succeeds("command -v gnuplot >/dev/null");
    if (!by_gnuplot_ && !succeeds(python))
        throw InputError(option + " needs gnuplot, or Python with matplotlib; neither is there");
}

std::string Picture::gnuplot_output(int width, int height) const {
    return fmt::format("set terminal {} size {},{} background rgb 'white'\nset output {}\n",
                       format_ == "png" ? "pngcairo" : "svg", width, height, quoted(path_));
}

void Picture::draw(const std::string& script) const {
    std::FILE* const pipe = popen(by_gnuplot_ ? "gnuplot" : "python3 -", "w");
    const bool written = pipe && std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
    if (!pipe || pclose(pipe) != 0 || !written) throw InputError("cannot draw " + path_);
}

Plot::Plot(std::string path, Axes axes) : picture_(std::move(path), "--plot"), axes_(std::move(axes)) {}

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
    std::string script =
        picture_.gnuplot_output(900, 600) +
        fmt::format(
            "set title {} noenhanced\nset key noenhanced outside bottom "
            "center horizontal\nset logscale {}\nset format y '{}'\nset grid\nset xlabel '{}'\nset ylabel '{}'\nplot ",
            quoted(title), axes_.logarithmic_x ? "xy 2" : "y", axes_.logarithmic_x ? "%g" : "%.0e", axes_.x, axes_.y);
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
    return script + fmt::format("axes.legend()\nfigure.savefig({})\n", quoted(picture_.path()));
}

void Plot::write(const std::string& title) const {
    if (curves_.empty()) throw InputError(fmt::format("--plot {}: there is no residual to draw", picture_.path()));
    picture_.draw(picture_.by_gnuplot() ? gnuplot(title) : matplotlib(title));
}

std::string SharePlot::gnuplot(const std::string& title, const std::string& x,
                               const std::vector<std::string>& parts) const {
    const std::size_t cells = panels_.size() + 1;  // the last is the key
    const auto across = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(cells))));
    const std::size_t down = (cells + across - 1) / across;
    std::string script =
        picture_.gnuplot_output(static_cast<int>(300 * across), static_cast<int>(40 + 230 * down)) +
        fmt::format(
            "set multiplot layout {},{} title {} noenhanced\nset yrange [0:100]\nset xlabel '{}'\n"
            "set ylabel '% of an iteration'\nset logscale x 2\nset format x '%g'\nunset key\nset tics font ',9'\n",
            down, across, quoted(title), x);
    for (const auto& panel : panels_) {
        script += fmt::format("set title {} noenhanced\nset xrange [{}:{}]\nplot ", quoted(panel.label),
                              panel.x.front(), std::max(panel.x.back(), 1.01 * panel.x.front()));
        for (std::size_t k = 0; k < parts.size(); ++k)
            script += fmt::format("{}'-' using 1:2:3 with filledcurves linecolor {}", k == 0 ? "" : ", ", k + 1);
        std::vector<double> below(panel.x.size());
        for (const auto& share : panel.shares) {
            script += "\n";
            for (std::size_t i = 0; i < panel.x.size(); ++i) {
                script += fmt::format("{} {:.4f} {:.4f}\n", panel.x[i], below[i], below[i] + 100 * share[i]);
                below[i] += 100 * share[i];
            }
            script += "e";
        }
        script += "\n";
    }
    script +=
        "unset title\nunset logscale x\nset xrange [0:1]\nset yrange [0:1]\nunset border\nunset tics\nunset xlabel\n"
        "unset ylabel\nset key center center noenhanced\nplot ";
    for (std::size_t k = 0; k < parts.size(); ++k)
        script += fmt::format("{}'-' with boxes fillstyle solid linecolor {} title {}", k == 0 ? "" : ", ", k + 1,
                              quoted(parts[k]));
    script += "\n";
    for (std::size_t k = 0; k < parts.size(); ++k) script += "5 5\ne\n";  // a box that is not in sight
    return script + "unset multiplot\n";
}

std::string SharePlot::matplotlib(const std::string& title, const std::string& x,
                                  const std::vector<std::string>& parts) const {
    nlohmann::json panels;
    for (const auto& panel : panels_)
        panels.push_back({{"label", panel.label}, {"x", panel.x}, {"shares", panel.shares}});
    return fmt::format(
        "import json, math\nimport matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
        "panels, parts = json.loads({}), json.loads({})\n"
        "across = math.ceil(math.sqrt(len(panels) + 1))\ndown = -(-(len(panels) + 1) // across)\n"
        "figure, cells = plt.subplots(down, across, squeeze=False, figsize=(3 * across, 0.4 + 2.3 * down))\n"
        "for cell, panel in zip(cells.flat, panels):\n"
        "    bands = cell.stackplot(panel['x'], [[100 * s for s in share] for share in panel['shares']])\n"
        "    cell.set(title=panel['label'], xlabel={}, ylabel='% of an iteration', xscale='log', ylim=(0, 100))\n"
        "for cell in list(cells.flat)[len(panels):]:\n    cell.axis('off')\n"
        "list(cells.flat)[len(panels)].legend(bands, parts, loc='center')\n"
        "figure.suptitle({})\nfigure.tight_layout()\nfigure.savefig({})\n",
        quoted(panels.dump()), quoted(nlohmann::json(parts).dump()), quoted(x), quoted(title), quoted(picture_.path()));
}

void SharePlot::write(const std::string& title, const std::string& x, const std::vector<std::string>& parts) const {
    picture_.draw(picture_.by_gnuplot() ? gnuplot(title, x, parts) : matplotlib(title, x, parts));
}
