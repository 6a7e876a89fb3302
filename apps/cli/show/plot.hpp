// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stretto/driver/result.hpp"

/// A picture of curves, of which the vertical axis is logarithmic, drawn by gnuplot or by Python's matplotlib,
/// whichever is there.
class Plot {
public:
    struct Axes {
        std::string x = "iteration", y = "relative residual";
        bool logarithmic_x = false;
    };

    /// Throws stretto::InputError where the ending is not .png or .svg, or nothing is there to draw with.
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

    std::string path_, format_;
    Axes axes_;
    bool by_gnuplot_;
    std::vector<Curve> curves_;
    int methods_ = 0;
};
