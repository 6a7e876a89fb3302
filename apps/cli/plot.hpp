// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stretto/solvers/result.hpp"

/// A picture of residuals over iterations, one curve for each method (the largest of its columns), drawn by gnuplot or
/// by Python's matplotlib, whichever is there.
class Plot {
public:
    /// Throws stretto::InputError where the ending is not .png or .svg, or nothing is there to draw with.
    explicit Plot(std::string path);

    void add(const std::string& label, const stretto::Result& result);

    /// Throws stretto::InputError if it cannot be drawn.
    void write(const std::string& title) const;

private:
    struct Curve {
        std::string label;
        bool dashed;
        int color;  ///< the number of its method
        std::vector<double> values;
    };
    std::string gnuplot(const std::string& title) const;
    std::string matplotlib(const std::string& title) const;

    std::string path_, format_;
    bool by_gnuplot_;
    std::vector<Curve> curves_;
    int methods_ = 0;
};
