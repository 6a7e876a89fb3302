// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stretto/driver/result.hpp"

/// A file of a picture, drawn by gnuplot or by Python's matplotlib, whichever is there.
class Picture {
public:
    /// Throws stretto::InputError where the ending is not .png or .svg, or nothing is there to draw with; `option` is
    /// what was asked with.
    Picture(std::string path, const std::string& option);

    const std::string& path() const { return path_; }
    bool by_gnuplot() const { return by_gnuplot_; }
    /// gnuplot's lines that choose the file, of so many pixels.
    std::string gnuplot_output(int width, int height) const;
    /// Throws stretto::InputError if it cannot be drawn.
    void draw(const std::string& script) const;

private:
    std::string path_, format_;
    bool by_gnuplot_;
};

/// A picture of curves, of which the vertical axis is logarithmic.
class Plot {
public:
    struct Axes {
        std::string x = "iteration", y = "relative residual";
        bool logarithmic_x = false;
    };

    /// Throws as Picture.
    explicit Plot(std::string path) : Plot(std::move(path), Axes()) {}
    Plot(std::string path, Axes axes);

    /// Residuals over iterations, the largest of the columns.
    void add(const std::string& label, const stretto::Result& result);
    void add(const std::string& label, std::vector<std::pair<double, double>> points, bool dashed);

    /// Throws stretto::InputError if it cannot be drawn.
    void write(const std::string& title) const;

private:
    struct Curve {
        std::string label;
        bool dashed;
        int color;  ///< the number of its method
        std::vector<std::pair<double, double>> points;
    };
    std::string gnuplot(const std::string& title) const;
    std::string matplotlib(const std::string& title) const;

    Picture picture_;
    Axes axes_;
    std::vector<Curve> curves_;
    int methods_ = 0;
};

/// A picture of what parts make up, in shares of 100 % over a logarithmic axis: a panel each.
class SharePlot {
public:
    /// Throws as Picture.
    SharePlot(std::string path, const std::string& option) : picture_(std::move(path), option) {}

    struct Panel {
        std::string label;
        std::vector<double> x;
        std::vector<std::vector<double>> shares;  ///< by part, at each x
    };
    void add(Panel panel) { panels_.push_back(std::move(panel)); }

    /// Throws stretto::InputError if it cannot be drawn.
    void write(const std::string& title, const std::string& x, const std::vector<std::string>& parts) const;

private:
    std::string gnuplot(const std::string& title, const std::string& x, const std::vector<std::string>& parts) const;
    std::string matplotlib(const std::string& title, const std::string& x, const std::vector<std::string>& parts) const;

    Picture picture_;
    std::vector<Panel> panels_;
};
